# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Each first part of the series, for whoever wants no more than that: it builds,
# boots, and passes the kernel's tests of what it touches.  The caller is lab.sh.
# shellcheck disable=SC2034,SC2154

lab_each() {
	local dir=$lab_out/each prefix patches passed=0 failed=0
	mkdir -p "$dir"
	lab_build stock
	build_selftests
	each_root "$dir/root"
	mapfile -t patches < <(named_patches "$lab_patches/series")
	[ ${#each_prefixes[@]} -gt 0 ] || mapfile -t each_prefixes < <(seq ${#patches[@]})
	for prefix in "${each_prefixes[@]}"; do
		attempt try_prefix "$dir" >"$dir/$prefix" 2>&1
		if [ "$status" -eq 0 ]; then
			passed=$((passed + 1))
			say "ok $prefix $(basename "${patches[prefix - 1]}")"
		else
			failed=$((failed + 1))
			say "FAILED $prefix $(basename "${patches[prefix - 1]}"): see $dir/$prefix"
		fi
	done
	say "$passed passed, $failed failed, 0 skipped"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

each_root() {
	local program
	new_root "$1"
	for program in $(selftest_programs "$each_tests"); do
		add_program "$lab_cache/$lab_arch/selftests/$program" "$1/$program"
	done
	install -m 755 "$lab_dir/guest/selftests.sh" "$1/payload"
	say "WTRACK_TEST_SECONDS=$selftest_seconds" >"$1/settings"
	say "$each_tests" >"$1/list.1"
	pack_root "$1"
}

# try_prefix DIRECTORY: what has passed once with all that it is made of the same
# is not run again.
try_prefix() {
	local log=$1/$prefix.log known=$lab_cache/$lab_arch/each.passed stamp
	stamp=$(kernel_stamp each)
	if grep -qxF "$stamp" "$known" 2>/dev/null; then
		say "as passed before"
		return
	fi
	build_kernel each
	boot "$lab_boot_seconds" "$(kernel_image each)" "$1/root.cpio" \
		"$log" "mitigations=off" -smp 1 -m 2G -cpu "$machine_cpu"
	splats "$log.console" | tee "$log.splats"
	awk -f "$lab_dir/selftests.awk" "$log" | tee "$log.sum"
	# Of each test some cases pass and none fails.
	[ "$(grep -c '|[1-9][0-9]*|0|' "$log.sum")" -eq "$(say "$each_tests" | wc -l)" ]
	[ ! -s "$log.splats" ]
	say "$stamp" >>"$known"
}
