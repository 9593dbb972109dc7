# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What flushes cost, which instructions do not tell: two processors in real time,
# the second of which reads memory of its own all the time.  Boots with all fast
# paths on and with one off take turns, and of each kind the median counts, since
# no emulator keeps time well.  The caller is lab.sh.
# shellcheck disable=SC2154

wall_rounds=${WTRACK_WALL_ROUNDS:-5}

# BOOT|SWITCHES|CASES, and what turns with each.
wall_pairs="k3|wtrack_fastpaths=-k3|scan.getwp.1/512.1g scan.getwp.1/8.1g scan.getwp.1/64.64m scan.wp.1/512.1g scan.get.1/512.1g thp.getwp s1.scan.512 empty.getwp.*
s1|wtrack_fastpaths=-s1|s1.mprotect.512 s1.uffd.512
all|stock|scan.getwp.1/512.1g thp.getwp empty.getwp.* uffd.arm mprotect.r"

# lab_wall [PAIR]...: all pairs, or these.
lab_wall() {
	local dir=$lab_out/wall round name switches cases
	lab_build stock patched switched
	figures_directory "$dir" $#
	for ((round = 1; round <= wall_rounds; round++)); do
		while IFS='|' read -r name switches cases <&3; do
			if [ $# -eq 0 ] || [[ " $* " == *" $name "* ]]; then
				wall_pair "$dir" "$name" "$switches" "$cases" "$round"
			fi
		done 3<<<"$wall_pairs"
	done
	say
	python3 "$lab_dir/figures.py" judge wall "$lab_dir/targets.tsv" "$dir"
}

# wall_pair DIRECTORY PAIR SWITCHES CASES ROUND
wall_pair() {
	local dir=$1 name=$2 switches=$3 cases=$4 round=$5
	if [ "$switches" = stock ]; then
		wall_boot "$dir/stock.$round" stock '' "$cases"
		wall_boot "$dir/patched.$round" patched '' "$cases"
	else
		wall_boot "$dir/off-$name.$round" switched "$switches" "$cases"
		wall_boot "$dir/on-$name.$round" switched '' "$cases"
	fi
}

# wall_boot FILE KERNEL SWITCHES CASES: figures come to FILE.log.
wall_boot() {
	local file=$1 kernel=$2 switches=$3 cases=$4 rc=0 start=$SECONDS
	boot_wall "$kernel" "$(dirname "$file")/root" "$file.log" \
		"$switches $(kbench_words 1 '--beside --iterations 7' "$cases")" || rc=$?
	if [ $rc -eq 0 ]; then
		say "ok boot $(basename "$file"), $((SECONDS - start)) s"
	else
		say "FAILED boot $(basename "$file"): $(kbench_complaint "$file.log")"
	fi
}
