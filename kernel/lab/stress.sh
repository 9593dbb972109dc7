# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Searches for lost writes and for what the kernel's own checks find, on the
# patched kernel with all checks, two processors and swap; once more with both
# switches on.  The caller is lab.sh.
# shellcheck disable=SC2154

lab_stress() {
	local out=$lab_out/stress boot passed=0 failed=0
	mkdir -p "$out"
	lab_root "$out/root" "$lab_dir/guest/stress.sh" stress/stress
	for boot in "${stress_boots[@]}"; do
		stress_boot "${boot%%|*}" "${boot#*|}"
	done
	say "$passed passed, $failed failed, 0 skipped"
	[ "$failed" -eq 0 ]
}

# stress_boot NAME ARGUMENTS: adds to the caller's counts.
stress_boot() {
	local log=$out/$1 status
	attempt boot_wall debug "$out/root" "$log" \
		"$2 stress=${WTRACK_LAB_STRESS_SECONDS:-60},${WTRACK_LAB_STRESS_SEED:-1}"
	sed -n 's/^ *[0-9][0-9]* [a-z]/&/p' "$log"
	stress_judge "$1: a deliberate loss is found" \
		grep -aqx 'BROKEN 1' "$log"
	stress_judge "$1: no store is lost" \
		grep -aqx 'no store is lost' "$log"
	stress_judge "$1: all was done, status $status" \
		[ "$status" -eq 0 ]
	stress_judge "$1: the kernel does not complain" \
		stress_console "$log.console"
}

# stress_judge WHAT COMMAND...
stress_judge() {
	local what=$1
	shift
	if "$@"; then
		say "ok $what"
		passed=$((passed + 1))
	else
		say "not ok $what"
		failed=$((failed + 1))
	fi
}

# A console on which nothing is would look like one without complaints.
stress_console() {
	grep -aq 'Linux version' "$1" && ! splats "$1" | grep -a .
}
