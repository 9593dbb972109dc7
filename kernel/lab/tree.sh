# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The lab's source tree of a series, and the kernels that are built from it.
# Everything is in the cache: src/, the files that patches touch as they were in
# orig/, and for each machine a directory for each kernel.  The caller is lab.sh.
# shellcheck disable=SC2034,SC2154

# More than that the cache of a series never keeps: 1.7 GB of source, 0.2 a kernel.
cache_bound_mb=6144
build_packages=(bc bison cpio flex gcc libelf-dev libssl-dev lz4 make patch perl
	python3 xz-utils)
kernel_cc=${WTRACK_KERNEL_CC:-$arch_cc}
# What programs are built with that run here, in the kernel's build.
host_cc=gcc
# Nothing that builds takes longer, even beside another build.
build_seconds=${WTRACK_BUILD_SECONDS:-2400}

# named_patches SERIES-FILE: the patches it names, in order.
named_patches() {
	local dir name
	dir=$(dirname "$1")
	while read -r name; do
		[ -f "$dir/$name" ] || die "$1 names $name, which is not there"
		say "$dir/$name"
	done < <(sed 's/[[:space:]]*#.*//; /^[[:space:]]*$/d' "$1")
}

# series_hash SERIES: of the file that names the patches, and of them in order.
series_hash() {
	local series=$root/kernel/patches/$1/series patches
	[ -f "$series" ] || die "there is no $series"
	patches=$(named_patches "$series")
	# Names without blanks.
	# shellcheck disable=SC2086
	cat "$series" $patches | sha256sum | cut -d ' ' -f 1
}

# A kernel is named by what it has of the patches, and may end in -FRAGMENT for one
# more file of its configuration; but the N of first-N is how many patches it has.

# fragment_of NAME: nothing where its name has none.
fragment_of() {
	case $1 in
	first-*) ;;
	*-*) say "${1#*-}" ;;
	esac
}

# kernel_dir NAME
kernel_dir() {
	say "$lab_cache/$lab_arch/$1"
}

# kernel_image NAME: what boots.  A plan may say that debug has another one.
kernel_image() {
	local image=$arch_image
	[ "$1" != debug ] || image=${debug_image:-$arch_image}
	say "$lab_cache/$lab_arch/$1/$image"
}

# kernel_target NAME: what make is asked for, to have it.
kernel_target() {
	local target=$arch_target
	[ "$1" != debug ] || target=${debug_target:-$arch_target}
	say "$target"
}

# kernel_patches NAME: what the kernel has that Debian's has not.
kernel_patches() {
	[ ${#plan_patches[@]} -eq 0 ] || printf '%s\n' "${plan_patches[@]}"
	case ${1%%-*} in
	stock) ;;
	patched | debug) named_patches "$lab_patches/series" ;;
	switched)
		named_patches "$lab_patches/series"
		[ -f "$lab_switches" ] || die "there is no $lab_switches"
		say "$lab_switches"
		;;
	each) named_patches "$lab_patches/series" | sed -n "1,${prefix}p" ;;
	first) named_patches "$lab_patches/series" | sed -n "1,${1#first-}p" ;;
	*) die "there is no kernel $1: stock, patched, switched or debug, or one of them with -FRAGMENT, or first-N" ;;
	esac
}

# kernel_fragments NAME: the files its configuration is made of.
kernel_fragments() {
	local fragment
	fragment=$(fragment_of "$1")
	say "$lab_dir/config/common"
	[ ! -e "$lab_dir/config/$lab_series" ] || say "$lab_dir/config/$lab_series"
	say "$lab_dir/config/$lab_arch"
	[ "${1%%-*}" != debug ] || say "$lab_dir/config/debug"
	[ -z "$fragment" ] || say "$lab_dir/config/$fragment"
}

# kernel_stamp NAME: of all that the kernel is made of.
kernel_stamp() {
	local files
	files=$(
		kernel_fragments "$1"
		kernel_patches "$1"
	)
	{
		cat "$lab_cache/version"
		"$kernel_cc" --version
		# shellcheck disable=SC2086
		cat $files
	} | sha256sum | cut -d ' ' -f 1
}

lab_source() {
	find_source
	check_compiler
	if [ "$(cat "$lab_cache/version" 2>/dev/null)" != "$source_version" ]; then
		unpack_source
	fi
	say "linux-source-$lab_series $source_version, $("$kernel_cc" --version | head -n 1)"
}

# The newest source that the package manager gives becomes $source_tar, and its
# version $source_version.
find_source() {
	local package=linux-source-$lab_series newest
	"$root/scripts/deps.sh" xz-utils "$package" ||
		die "cannot install $package: add Debian's security archive to apt's sources"
	newest=$(apt-cache policy "$package" | sed -n 's/^  Candidate: //p')
	# The format is dpkg-query's, not the shell's.
	# shellcheck disable=SC2016
	[ "$(dpkg-query -W -f '${Version}' "$package")" = "$newest" ] ||
		install_packages "$package=$newest"
	source_version=$newest
	source_tar=/usr/src/$package.tar.xz
	[ -s "$source_tar" ] || die "no $source_tar: install $package again"
}

check_compiler() {
	local version
	version=$("$kernel_cc" -dumpversion 2>/dev/null) || version=0
	if [ "${version%%.*}" -lt 8 ] ||
		[[ $("$kernel_cc" -dM -E - </dev/null) == *__clang__* ]]; then
		die "$kernel_cc is no gcc of version 8 or newer: install $arch_cc, or name one in WTRACK_KERNEL_CC"
	fi
}

# Replaces whatever is there of an older version.
unpack_source() {
	say "unpacking linux-source-$lab_series $source_version"
	rm -f "$lab_cache/version"
	find "$lab_cache" -mindepth 1 -maxdepth 1 ! -name lock -exec rm -rf {} +
	need_space
	mkdir "$lab_cache/new"
	XZ_DEFAULTS=-T0 tar -xf "$source_tar" -C "$lab_cache/new" --strip-components=1 ||
		die "cannot unpack $source_tar: is the disk full, or the package broken?"
	mv "$lab_cache/new" "$lab_cache/src"
	mkdir "$lab_cache/orig"
	: >"$lab_cache/touched"
	say "$source_version" >"$lab_cache/version"
}

# Says that the disk is too small before it is full.
need_space() {
	local free used
	free=$(df -Pm "$lab_cache" | awk 'NR == 2 { print $4 }')
	used=$(du -sm "$lab_cache" | cut -f 1)
	[ $((free + used)) -ge $cache_bound_mb ] ||
		die "$lab_cache has $free MB left and needs $((cache_bound_mb - used)): free some, or set WTRACK_KERNEL_CACHE"
}

# keep_bound NAME: other kernels go, those of other machines first, then those that
# are made last, until the bound is kept.
keep_bound() {
	local dir
	for dir in $(other_machines) "$lab_arch"/{each,first-{1..9},debug,switched,patched}; do
		[ "$(du -sm "$lab_cache" | cut -f 1)" -gt $cache_bound_mb ] || return 0
		if [ "$dir" = "$lab_arch/$1" ] || [ ! -d "$lab_cache/$dir" ]; then
			continue
		fi
		say "$lab_cache is beyond $cache_bound_mb MB: $dir goes"
		rm -rf "${lab_cache:?}/$dir"
	done
}

other_machines() {
	local arch
	for arch in "$lab_dir"/arch/*.sh; do
		arch=$(basename "$arch" .sh)
		[ "$arch" = "$lab_arch" ] || say "$arch"
	done
}

# patched_files PATCH...: those that the patches change, make or remove.
patched_files() {
	[ $# -eq 0 ] || sed -n 's/^[-+][-+][-+] [ab]\/\([^[:space:]]*\).*/\1/p' "$@" | sort -u
}

# apply_patches DIRECTORY PATCH...: refuses what only fits roughly.
apply_patches() {
	local dir=$1 patch
	shift
	for patch in "$@"; do
		patch --directory="$dir" --strip=1 --fuzz=0 --forward --silent \
			--no-backup-if-mismatch --reject-file=- <"$patch" >"$dir.log" 2>&1 || {
			cat "$dir.log"
			die "${patch#"$root"/} does not apply to linux-source-$lab_series $source_version: refresh it, its rejects are above"
		}
	done
}

# set_tree PATCH...: the source becomes the stock one with these.  Touches only
# files whose content differs, and none unless all patches apply.
set_tree() {
	local file work=$lab_cache/work src=$lab_cache/src
	while read -r file; do
		grep -qxF "$file" "$lab_cache/touched" || keep_original "$file"
	done < <(patched_files "$@")
	rm -rf "$work"
	cp -R "$lab_cache/orig" "$work"
	apply_patches "$work" "$@"
	while read -r file; do
		if [ ! -e "$work/$file" ]; then
			rm -f "$src/$file"
		elif ! cmp -s "$work/$file" "$src/$file"; then
			mkdir -p "$(dirname "$src/$file")"
			cp "$work/$file" "$src/$file"
		fi
	done <"$lab_cache/touched"
	rm -rf "$work" "$work.log"
}

# keep_original FILE: which no patch has touched so far, or does not exist.
keep_original() {
	local orig=$lab_cache/orig/$1
	if [ -e "$lab_cache/src/$1" ]; then
		mkdir -p "$(dirname "$orig")"
		cp "$lab_cache/src/$1" "$orig"
	fi
	say "$1" >>"$lab_cache/touched"
}

# clean_make LOG ARGUMENT...: make, with nothing of the environment, and with
# nothing in what it makes that a second time would differ.
clean_make() {
	local log=$1
	shift
	env -i PATH="$PATH" HOME="$HOME" LC_ALL=C \
		KBUILD_BUILD_TIMESTAMP=2026-01-01 KBUILD_BUILD_USER=wtrack \
		KBUILD_BUILD_HOST=lab KBUILD_BUILD_VERSION=1 \
		timeout --foreground -k 10 "$build_seconds" make -j"$jobs" "$@" \
		>>"$log" 2>&1 </dev/null
}

# make_failed LOG: says why, and what to do.
make_failed() {
	grep -E 'error:|Error [0-9]|No space left' "$1" | head -n 20 >&2 || :
	if grep -q 'No space left' "$1"; then
		die "the disk is full: free some, or set WTRACK_KERNEL_CACHE"
	fi
	die "make failed, or took $build_seconds s: see $1"
}

# kernel_make DIRECTORY LOG ARGUMENT...: of the kernel, outside of its source.
# A make that is killed may leave half an object, which then looks newest: the
# directory is not used again.  One that fails, or is told to end, removes it.
kernel_make() {
	local dir=$1 log=$2 rc=0
	shift 2
	: >"$dir/unfinished"
	clean_make "$log" -C "$lab_cache/src" O="$dir" ARCH="$lab_arch" \
		CROSS_COMPILE="$arch_cross" CC="$kernel_cc" HOSTCC="$host_cc" "$@" || rc=$?
	[ $rc -ge 128 ] || rm -f "$dir/unfinished"
	[ $rc -eq 0 ] || make_failed "$log"
}

lab_build() {
	local name
	[ $# -gt 0 ] || die "build which: stock, patched, switched or debug?"
	lab_source
	mkdir -p "$lab_out/build"
	for name in "$@"; do
		build_kernel "$name"
		# This run, whatever subshell this is in, need not look again.
		say $$ >"$lab_out/build/$name.ready"
	done
}

# build_kernel NAME: gives its image.
build_kernel() {
	local name=$1 dir log=$lab_out/build/$1.log start=$SECONDS
	local stamp patches
	dir=$(kernel_dir "$name")
	stamp=$(kernel_stamp "$name")
	if kernel_is_built "$name" "$stamp"; then
		say "kernel $name: as built before"
		return
	fi
	need_space
	: >"$log"
	start_directory "$name"
	mapfile -t patches < <(kernel_patches "$name")
	set_tree "${patches[@]}"
	configure_kernel "$name" "$log"
	kernel_make "$dir" "$log" "$(kernel_target "$name")"
	say "$stamp" >"$dir/stamp"
	keep_bound "$name"
	say "kernel $name: built, $(grep -c '^  CC  ' "$log" || :) files compiled, $((SECONDS - start)) s"
}

# kernel_is_built NAME STAMP
kernel_is_built() {
	[ -s "$(kernel_image "$1")" ] &&
		[ "$(cat "$(kernel_dir "$1")/stamp" 2>/dev/null)" = "$2" ]
}

# start_directory NAME: with the objects of the kernel that differs least, if
# there are none.  Of a fragment no stock kernel is made for that alone.
start_directory() {
	local name=$1 dir from='' suffix
	dir=$(kernel_dir "$name")
	suffix=$(fragment_of "$name")
	suffix=${suffix:+-$suffix}
	rm -f "$dir/stamp"
	[ ! -e "$dir/unfinished" ] || rm -rf "$dir"
	[ ! -d "$dir" ] || return 0
	case ${name%%-*} in
	patched | each | first) [ -n "$suffix" ] || from=stock ;;
	switched) from=patched$suffix ;;
	esac
	if [ -n "$from" ]; then
		kernel_is_built "$from" "$(kernel_stamp "$from")" ||
			build_kernel "$from"
		rm -rf "$dir.copy"
		cp -a "$(kernel_dir "$from")" "$dir.copy"
		rm -f "$dir.copy/stamp"
		# objtool remembers where it was made, and would be made anew
		# there, and with it everything.
		[ ! -d "$dir.copy/tools" ] || find "$dir.copy/tools" -name '.*.cmd' -exec \
			sed -i "s|$(kernel_dir "$from")/|$dir/|g" {} +
		mv "$dir.copy" "$dir"
	else
		mkdir -p "$dir"
	fi
}

# configure_kernel NAME LOG: no more than the fragments say, but all of that.
configure_kernel() {
	local dir log=$2 lost fragments
	dir=$(kernel_dir "$1")
	mapfile -t fragments < <(kernel_fragments "$1")
	grep -hE '^(# )?CONFIG_' "${fragments[@]}" >"$dir/wanted"
	if cmp -s "$dir/wanted" "$dir/configured"; then
		return
	fi
	kernel_make "$dir" "$log" KCONFIG_ALLCONFIG="$dir/wanted" allnoconfig
	lost=$(grep -v ' is not set$' "$dir/wanted" | grep -vxFf "$dir/.config"
		sed -n 's/^# \(.*\) is not set$/\1=/p' "$dir/wanted" | grep -Ff - "$dir/.config") || :
	[ -z "$lost" ] || die "the configuration of $1 does not take: ${lost//$'\n'/, }"
	mv "$dir/wanted" "$dir/configured"
}
