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

# lab_root DIRECTORY PAYLOAD PROGRAM...: packs a root file system with static
# programs in /, and the shell file that runs them.
lab_root() {
	local dir=$1 payload=$2 program
	shift 2
	new_root "$dir"
	for program in "$@"; do
		add_program "$program" "$dir/$(basename "$program")"
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
