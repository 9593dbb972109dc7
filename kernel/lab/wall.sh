# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What flushes cost, which instructions do not tell: two processors in real time,
# the second of which reads memory of its own all the time.  Boots with all fast
# paths on, and with those off that save flushes, take turns, and of each kind the
# median counts, since no emulator keeps time well.  The caller is lab.sh.
# shellcheck disable=SC2154

wall_rounds=${WTRACK_WALL_ROUNDS:-5}

lab_wall() {
	local dir=$lab_out/wall round cases n=0
	lab_build switched
	figures_directory "$dir" 0
	for ((round = 1; round <= wall_rounds; round++)); do
		while read -r cases <&3; do
			n=$((n + 1))
			wall_boot "$dir/off.$n" "$wall_off" "$cases"
			wall_boot "$dir/on.$n" '' "$cases"
		done 3<<<"$wall_groups"
	done
	say
	python3 "$lab_dir/figures.py" judge wall "$lab_plan" "$dir"
}

# wall_boot FILE SWITCHES CASES: figures come to FILE.log.
wall_boot() {
	local file=$1 switches=$2 cases=$3 rc=0 start=$SECONDS
	boot_wall switched "$(dirname "$file")/root" "$file.log" \
		"$switches $(kbench_words 1 --beside "$cases")" || rc=$?
	if [ $rc -eq 0 ]; then
		say "ok boot $(basename "$file"), $((SECONDS - start)) s"
	else
		say "FAILED boot $(basename "$file"): $(kbench_complaint "$file.log")"
	fi
}
