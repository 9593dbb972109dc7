# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Tests what kernels do about write tracking: the stock one, where the known
# bugs must be seen, and the patched one, alone and with each of its switches.
# The caller is lab.sh.
# shellcheck disable=SC2154

lab_ktest() {
	local out=$lab_out/ktest boot name kernel arguments
	local passed=0 failed=0 skipped=0
	mkdir -p "$out"
	lab_root "$out/root" "$lab_dir/guest/ktest.sh" ktest/ktest
	for boot in "${ktest_boots[@]}"; do
		IFS='|' read -r name kernel arguments <<<"$boot"
		ktest_boot "$name" "$kernel" "$arguments"
	done
	say "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}

# ktest_boot NAME KERNEL ARGUMENTS: adds to the caller's counts.
ktest_boot() {
	local log=$out/$1 status p f s
	attempt boot_wall "$2" "$out/root" "$log" "$3"
	grep -aE '^(not ok|skip) ' "$log" | sed "s/^/$1: /" || :
	p=$(grep -acE '^ok ' "$log") || :
	f=$(grep -acE '^not ok ' "$log") || :
	s=$(grep -acE '^skip ' "$log") || :
	# A run that did not come to its end has failed, and so has a splat.
	if ! grep -aqx "$p passed, $f failed, $s skipped" "$log"; then
		say "$1: ktest did not come to its end, status $status"
		f=$((f + 1))
	fi
	if splats "$log.console" | grep -a .; then
		say "$1: the kernel complained"
		f=$((f + 1))
	fi
	say "$1: $p passed, $f failed, $s skipped on $2"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}
