# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Boots the lab's kernels.  The caller is lab.sh.
# shellcheck disable=SC2154

# What no boot takes, even beside a build.
lab_boot_seconds=${WTRACK_BOOT_SECONDS:-600}

# boot_kernel NAME ROOT OUTPUT ARGUMENTS QEMU-OPTION...: like boot, builds the
# kernel if need be.
boot_kernel() {
	local name=$1 initrd=$2.cpio out=$3 args=$4
	shift 4
	[ "$(cat "$lab_out/build/$name.ready" 2>/dev/null)" = $$ ] || lab_build "$name"
	boot "$lab_boot_seconds" "$(kernel_image "$name")" "$initrd" "$out" "$args" "$@"
}

# Where the project's programs are, built for the machine: here, if it is like
# this one.
lab_built=$PWD
[ -z "$machine_sysroot" ] || lab_built=$lab_out/cross

# build_programs: the lab's own and libwtrack's tests, whose names come to
# $lab_built/kernel/lab/tests.
build_programs() {
	local log=$lab_out/programs.log
	[ "$(cat "$lab_out/build/programs.ready" 2>/dev/null)" != $$ ] || return 0
	mkdir -p "$lab_out/build"
	(make_programs) >"$log" 2>&1 || {
		grep -E 'error|No rule' "$log" | head -n 20 >&2 || :
		die "the programs that run in the machines do not build, as with a sanitizer: see $log"
	}
	say $$ >"$lab_out/build/programs.ready"
}

# Of a make that has called this nothing is handed down.
make_programs() {
	unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
	if [ -z "$machine_sysroot" ]; then
		make -j"$jobs" kernel/lab/tests
	else
		cross_build "$machine_sysroot" "$lab_built" kernel/lab/tests
	fi
}

# lab_root DIRECTORY PAYLOAD PROGRAM...: packs a root file system with static
# programs of the lab in /, and the shell file that runs them.
lab_root() {
	local dir=$1 payload=$2 program
	shift 2
	build_programs
	new_root "$dir"
	for program in "$@"; do
		add_program "$lab_built/kernel/lab/$program" "$dir/$(basename "$program")"
	done
	install -m 755 "$payload" "$dir/payload"
	pack_root "$dir"
}

# boot_exact KERNEL ROOT OUTPUT [KERNEL-ARGUMENTS]: one processor on which an
# instruction takes one nanosecond; what is the same gives the same figures to
# the last digit.  Nothing that an address or a mitigation would change.
boot_exact() {
	boot_kernel "$1" "$2" "$3" \
		"$arch_exact norandmaps nokaslr mitigations=off ${4:-}" \
		-smp 1 -m 3G -cpu "$arch_cpu" -seed 1 \
		-icount shift=0,sleep=off -rtc base=2026-01-01,clock=vm
}

# boot_wall KERNEL ROOT OUTPUT [KERNEL-ARGUMENTS]: two processors in real time.
boot_wall() {
	boot_kernel "$1" "$2" "$3" \
		"norandmaps nokaslr mitigations=off ${4:-}" \
		-smp 2 -m 3G -cpu "$arch_cpu"
}

# splats CONSOLE: what the kernel complains of.
splats() {
	grep -aE 'WARNING:|BUG:|KASAN:|INFO: (task|rcu|possible|trying)|possible .* detected|Oops|general protection|page_table_check|bad page|Kernel panic' "$1" || :
}
