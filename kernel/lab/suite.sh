# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# libwtrack's own tests on the patched kernels.  The caller is lab.sh.
# shellcheck disable=SC2154

suite_seconds=${WTRACK_BOOT_SECONDS:-720}

lab_suite() {
	local dir=$lab_out/suite boot name backends memory passed=0 failed=0 skipped=0
	mkdir -p "$dir"
	lab_build "${suite_kernels[@]%%|*}"
	build_programs
	(
		cd "$lab_built" || exit
		# Split into words.
		# shellcheck disable=SC2046
		test_root "$dir/root" tests/abi_consumer $(cat kernel/lab/tests)
	)
	for boot in "${suite_kernels[@]}"; do
		IFS='|' read -r name backends memory <<<"$boot"
		suite_boot "$name" "$backends" "${memory:-2G}"
	done
	say "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}

# suite_boot KERNEL BACKENDS MEMORY: adds to the caller's counts.
suite_boot() {
	local log=$dir/$1 p f s
	boot_tests "$suite_seconds" "$(kernel_image "$1")" "$dir/root.cpio" \
		"$log" "$2" "$3"
	splats "$log.console" >"$log.splats"
	sed 's/^/FAILED kernel - /' "$log.splats"
	read -r _ p f s _ < <(tail -n 1 "$log.sum")
	f=$((f + $(wc -l <"$log.splats")))
	say "$1: $p passed, $f failed, $s skipped"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}
