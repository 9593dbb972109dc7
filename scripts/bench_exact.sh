#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bench_exact.sh [--record]: counts the instructions of this build's benchmark,
# in the kernel and outside, and compares them with bench/EXACT.md; --record
# writes them there.  make bench-exact calls it in the build directory.
#
# In a virtual machine that is told to take one nanosecond an instruction, on a
# kernel of Debian.  The same code gives the same figures to the last digit.
#
# The last line is "N passed, N failed, N skipped".  A figure fails when it is
# more than 1 % above the recorded one: the ratio to its peer, or, where there
# is none, its value.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/vm.sh
. "$(dirname "$0")/vm.sh"

series=6.12
# Beside a build an emulated machine takes three times as long.
boot_seconds=${WTRACK_BOOT_SECONDS:-240}
record=$root/bench/EXACT.md
out=$PWD/vm/exact

main() {
	local why
	why=$(vm_lacks)
	if [ -n "$why" ]; then
		say "SKIP: bench-exact - $why"
		say "0 passed, 0 failed, 1 skipped"
		return
	fi
	"$root/scripts/deps.sh" "${vm_packages[@]}"
	mkdir -p "$out"
	measure
	if [ "${1:-}" = --record ]; then
		rewrite
	fi
	awk -F ' *[|] *' -f "$root/scripts/exact.awk" "$record" "$out/table"
}

measure() {
	make_root
	fetch_kernel "$series"
	# Addresses and the processor's features change the count.
	boot "$boot_seconds" "$kernel_cache/$series/vmlinuz" "$out/root.cpio" \
		"$out/log" "nolapic_timer norandmaps nokaslr mitigations=off" \
		-smp 1 -m 1G -cpu Nehalem -seed 1 \
		-icount shift=0,sleep=off -rtc base=2026-01-01,clock=vm
	make_table >"$out/table"
}

make_root() {
	local dir=$out/root
	new_root "$dir"
	add_program bench/wtrack-bench "$dir/bench"
	add_libraries "$dir" "$dir/bench"
	cp "$root/scripts/guest/bench.sh" "$dir/payload"
	pack_root "$dir"
}

# The benchmark's JSON as rows of a table.  Left out: a peer that may not be
# installed, and a store that is not tracked beside one that is.
make_table() {
	say "| case | backend | n | instructions | peer | ratio |"
	say "|---|---|---|---|---|---|"
	sed -n 's/^{"name":"\([^"]*\)","backend":"\([^"]*\)","n":\([0-9]*\),"value":\([0-9.]*\),"unit":"\([a-z]*\)","peer":"*\([^",]*\)"*,"ratio":\(.*\)}$/\1|\2|\3|\4|\5|\6|\7/p' \
		"$out/log" |
		awk -F '|' -v OFS=' | ' '
		$6 == "libsigsegv" || ($2 == "all" && $6 != "null") { next }
		{
			value = sprintf("%.1f", $4 * ($5 == "us" ? 1000 : 1))
			sub(/[.]0$/, "", value)
			peer = $6 == "null" ? "" : $6
			ratio = $7 == "null" ? "" : $7
			print "| " $1, $2, $3, value, peer, ratio " |"
		}'
}

# The text stays, the table is replaced.
rewrite() {
	awk -v table="$out/table" '
		!/^[|]/ { print; next }
		!done++ { while ((getline line <table) > 0) print line }
	' "$record" >"$out/EXACT.md"
	cp "$out/EXACT.md" "$record"
}

main "$@"
