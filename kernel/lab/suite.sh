# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# libwtrack's own tests on the patched kernel.  make check-kernel says which, in
# LAB_CONSUMER and LAB_TESTS.  The caller is lab.sh.
# shellcheck disable=SC2154

suite_backends='scan wp monitor softdirty mprotect all'
suite_seconds=${WTRACK_BOOT_SECONDS:-720}

lab_suite() {
	local dir=$lab_out/suite p f s
	[ -n "${LAB_TESTS:-}" ] || die "which tests? Run make check-kernel LAB=suite in the build directory"
	mkdir -p "$dir"
	lab_build patched
	# Split into words.
	# shellcheck disable=SC2086
	test_root "$dir/root" "$LAB_CONSUMER" $LAB_TESTS
	boot_tests "$suite_seconds" "$lab_cache/patched/vmlinux" "$dir/root.cpio" \
		"$dir/log" "$suite_backends"
	splats "$dir/log.console" >"$dir/splats"
	sed 's/^/FAILED kernel - /' "$dir/splats"
	read -r _ p f s _ < <(tail -n 1 "$dir/log.sum")
	f=$((f + $(wc -l <"$dir/splats")))
	say "$p passed, $f failed, $s skipped"
	[ "$f" -eq 0 ]
}
