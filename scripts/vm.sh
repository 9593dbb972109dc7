# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Kernels of Debian in virtual machines: fetches them, packs what they run,
# boots them.  By software emulation, so that it works where nothing else does.
# The caller has sourced lib.sh, and says in $machine for which, if not x86_64.
# shellcheck disable=SC2034,SC2154

kernel_cache=${WTRACK_KERNEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/libwtrack}
machine=${machine:-x86_64}
# shellcheck source=scripts/machine/x86_64.sh
. "$root/scripts/machine/$machine.sh"
vm_packages=(cpio "${machine_packages[@]}")

# Why there can be no virtual machine here; nothing if there can.
vm_lacks() {
	[ "$(dpkg --print-architecture 2>&1)" = amd64 ] ||
		say "the kernels are those of Debian amd64"
}

# fetch_kernel SERIES: the newest cloud kernel of it becomes
# $kernel_cache/SERIES/vmlinuz, and its version $kernel_version.  The archive
# drops old versions, so none is written down anywhere but in the cache.
fetch_kernel() {
	local series=$1 dir=$kernel_cache/$1 old=''
	if [ -s "$dir/vmlinuz" ]; then
		old=$(cat "$dir/version")
	fi
	if ! fetch_newest "$series" "$dir" "$old"; then
		# The index may be missing, or name what is gone.
		update_index
		fetch_newest "$series" "$dir" "$old" ||
			say "Linux $series: cannot fetch a kernel"
	fi
	# An old one is better than none.
	kernel_version=$(cat "$dir/version" 2>/dev/null) || return
	if [ "$kernel_version" != "$old" ]; then
		say "Linux $series: $kernel_version${old:+, was $old}"
	fi
}

fetch_newest() {
	local package version
	package=$(newest_package "$1")
	version=${package#linux-image-}
	version=${version%-unsigned}
	[ -n "$version" ] || return
	[ "$version" = "$3" ] || download_kernel "$package" "$2" "$version"
}

newest_package() {
	apt-cache search --names-only \
		"^linux-image-${1//./[.]}[.][0-9].*-cloud-amd64-unsigned\$" |
		cut -d' ' -f1 | sort -V | tail -n 1
}

update_index() {
	local as_root=()
	[ "$(id -u)" -eq 0 ] || as_root=(sudo)
	"${as_root[@]}" apt-get update -qq || :
}

# Replaces what is in the directory, which thus holds one kernel at most.
download_kernel() {
	local package=$1 dir=$2 version=$3 work rc=0
	work=$(mktemp -d)
	# apt downloads as a user of its own, where it can.
	chmod 755 "$work"
	(unpack_kernel "$package" "$work") >"$work/log" 2>&1 || rc=$?
	if [ $rc -ne 0 ]; then
		cat "$work/log"
	else
		mkdir -p "$dir"
		rm -f "$dir/version"
		mv "$work"/boot/vmlinuz-* "$dir/vmlinuz"
		say "$version" >"$dir/version"
	fi
	rm -rf "$work"
	return $rc
}

unpack_kernel() {
	cd "$2" && apt-get download "$1" &&
		dpkg-deb --fsys-tarfile ./*.deb |
		tar -xf - --wildcards './boot/vmlinuz-*'
}

# new_root DIRECTORY: a root file system with a shell and the first process.
new_root() {
	local dir=$1 applet
	rm -rf "$dir"
	mkdir -p "$dir"/{bin,dev,lib,proc,sys,tmp,etc}
	cp "$machine_sysroot/bin/busybox" "$dir/bin/busybox"
	# One of this machine has the same, and can say them.
	for applet in $(/bin/busybox --list | grep -vx busybox); do
		ln -sf busybox "$dir/bin/$applet"
	done
	"${machine_cc[@]}" -std=gnu11 -O2 -Wall -Wextra -static \
		"$root/scripts/guest/init.c" "$root/scripts/guest/$machine.c" -o "$dir/init"
}

# real_program FILE: the program that libtool's wrapper FILE stands for.
real_program() {
	local real
	real=$(dirname "$1")/.libs/$(basename "$1")
	[ -e "$real" ] || real=$1
	say "$real"
}

# add_program FILE ROOT/PLACE: without what only a debugger reads.
add_program() {
	"$machine_strip" -g -o "$2" "$(real_program "$1")"
}

# add_libraries ROOT PROGRAM...: the shared libraries that programs of this
# build ask for, in one directory, and their loader.
add_libraries() {
	local dir=$1 loader
	shift
	loader=$(readelf -l "$@" | sed -n 's/.*program interpreter: \(.*\)]/\1/p' | sort -u)
	for loader in $loader; do
		mkdir -p "$dir$(dirname "$loader")"
		cp -L "$(library_file "$(basename "$loader")")" "$dir$loader"
	done
	# The C library opens it by itself when a thread is cancelled.
	add_library "$dir" libgcc_s.so.1
	add_needed "$dir" "$@"
}

# add_needed ROOT FILE...: the libraries that these ask for.
add_needed() {
	local dir=$1 name
	shift
	for name in $(readelf -d "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)]/\1/p' | sort -u); do
		case $name in
		ld-*) ;;
		*) [ -e "$dir/lib/$name" ] || add_library "$dir" "$name" ;;
		esac
	done
}

# add_library ROOT NAME: and those that it asks for.
add_library() {
	cp -L "$(library_file "$2")" "$1/lib/$2"
	add_needed "$1" "$1/lib/$2"
}

# library_file NAME: of this build, or where the compiler finds it.
library_file() {
	if [ -e "lib/.libs/$1" ]; then
		say "lib/.libs/$1"
	else
		"${machine_cc[@]}" "-print-file-name=$1"
	fi
}

# test_root ROOT CONSUMER TEST...: packs this build's tests, and what tells which
# backends open.
test_root() {
	local dir=$1 consumer=$2 test programs
	shift 2
	new_root "$dir"
	mkdir -p "$dir/tests" "$dir/lib/.libs"
	add_program "$consumer" "$dir/consumer"
	programs=("$dir/consumer")
	for test in "$@"; do
		add_program "$test" "$dir/tests/$(basename "$test")"
		programs+=("$dir/tests/$(basename "$test")")
	done
	add_libraries "$dir" "${programs[@]}"
	if [ -e lib/.libs/libwtrack.so ]; then
		cp -L lib/.libs/libwtrack.so "$dir/lib/.libs/"
	fi
	cp "$root/scripts/guest/tests.sh" "$dir/payload"
	cat >"$dir/settings" <<-END
		export WTRACK_STRESS_SECONDS=${WTRACK_STRESS_SECONDS:-2}
		export WTRACK_EMULATED=1
		WTRACK_TEST_SECONDS=${WTRACK_TEST_SECONDS:-240}
	END
	pack_root "$dir"
}

# pack_root ROOT: makes ROOT.cpio, which is the same for the same contents.
pack_root() {
	find "$1" -exec touch -h -d @0 {} +
	(cd "$1" && find . -print0 | sort -z |
		cpio --quiet --null --create --reproducible --format=newc \
			--owner=+0:+0) >"$1.cpio"
}

# boot SECONDS VMLINUZ ROOT.cpio OUTPUT KERNEL-ARGUMENTS [QEMU-OPTION...]:
# the status of the payload, whose lines go to OUTPUT; 250 if the machine did
# not end as init.c ends it, or not in time.  The console is in OUTPUT.console.
boot() {
	local rc try
	for try in 1 2 3; do
		rc=0
		boot_once "$@" || rc=$?
		if [ $rc -ne 250 ] || ! trapped "$4"; then
			break
		fi
		say "the emulator has lost the kernel's own trap: attempt $try"
	done
	return $rc
}

# trapped OUTPUT: with two processors the emulator now and then lets one run into
# a trap that the other has put into the kernel's code, and removed again, while it
# starts.  Then nothing has been told yet.
trapped() {
	[ ! -s "$1" ] && grep -aq 'Oops: int3' "$1.console"
}

boot_once() {
	local seconds=$1 kernel=$2 initrd=$3 out=$4 args=$5 rc=0 told
	shift 5
	# What a machine that does not even start left there before.
	: >"$out"
	: >"$out.console"
	timeout --foreground -k 5 "$seconds" "$machine_qemu" \
		-accel tcg -nodefaults -no-user-config -display none -no-reboot \
		-serial "file:$out.console" -chardev "file,id=payload,path=$out" \
		"${machine_options[@]}" \
		-kernel "$kernel" -initrd "$initrd" \
		-append "console=$machine_console panic=-1 oops=panic $args" \
		"$@" </dev/null || rc=$?
	told=$(sed -n 's/^EXIT \([0-9]*\)$/\1/p' "$out" | tail -n 1)
	if [ -n "$told" ] && [ $rc -eq $((machine_status)) ]; then
		return "$told"
	fi
	say "the machine ended with status $rc, its payload with '$told'"
	tail -n 20 "$out.console"
	return 250
}

# boot_tests SECONDS VMLINUZ ROOT.cpio OUTPUT BACKENDS [MEMORY]: runs what
# test_root packed and prints what failed; OUTPUT.sum ends with "TOTAL passed failed
# skipped backends".  BACKENDS must have opened.
boot_tests() {
	local initrd=$3 out=$4 backends=$5 names rc=0
	names=$(ls "${initrd%.cpio}/tests")
	boot "$1" "$2" "$initrd" "$out" "$machine_hugepages mitigations=off" \
		-smp 2 -m "${6:-2G}" -cpu "$machine_cpu" || rc=$?
	awk -v backends="$backends" -v rc=$rc -v tests="${names//$'\n'/ }" \
		-f "$root/scripts/judge.awk" "$out" >"$out.sum"
	grep -v '^TOTAL' "$out.sum" || :
}
