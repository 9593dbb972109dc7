# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# libwtrack's own tests on the patched kernels.  make check-kernel says which, in
# LAB_CONSUMER and LAB_TESTS.  The caller is lab.sh.
# shellcheck disable=SC2154

suite_seconds=${WTRACK_BOOT_SECONDS:-720}

lab_suite() {
	local dir=$lab_out/suite kernel passed=0 failed=0 skipped=0
	[ -n "${LAB_TESTS:-}" ] || die "which tests? Run make check-kernel LAB=suite in the build directory"
	mkdir -p "$dir"
	lab_build "${suite_kernels[@]%%|*}"
	# Split into words.
	# shellcheck disable=SC2086
	test_root "$dir/root" "$LAB_CONSUMER" $LAB_TESTS
	for kernel in "${suite_kernels[@]}"; do
		suite_boot "${kernel%%|*}" "${kernel#*|}"
	done
	say "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}

# suite_boot KERNEL BACKENDS: adds to the caller's counts.
suite_boot() {
	local log=$dir/$1 p f s
	boot_tests "$suite_seconds" "$(kernel_image "$1")" "$dir/root.cpio" \
		"$log" "$2"
	splats "$log.console" >"$log.splats"
	sed 's/^/FAILED kernel - /' "$log.splats"
	read -r _ p f s _ < <(tail -n 1 "$log.sum")
	f=$((f + $(wc -l <"$log.splats")))
	say "$1: $p passed, $f failed, $s skipped"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}
