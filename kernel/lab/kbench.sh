# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What each fast path wins, in instructions: the kernel that has a switch for
# each is booted with all on, and once for each with that one off.  The same
# binary, so that the compiler has no part in the ratio.  The caller is lab.sh.
# shellcheck disable=SC2154

# The paths that none but the fast paths above them move.
kbench_controls="fault.untracked scan.get-rich.* s4.mprotect.1000"

# lab_kbench [BOOT]...: all boots, or these.
lab_kbench() {
	local dir=$lab_out/kbench name kernel switches cases
	# The stock one first: what has its objects to start with compiles less.
	# Split into words.
	# shellcheck disable=SC2046
	lab_build stock $(say "$kbench_boots" | cut -d '|' -f 2 | sort -u | grep -vx stock)
	figures_directory "$dir" $#
	while IFS='|' read -r name kernel switches cases <&3; do
		if [ $# -eq 0 ] || [[ " $* " == *" $name "* ]]; then
			kbench_boot "$dir" "$name" "$kernel" "$switches" "$cases"
		fi
	done 3<<<"$kbench_boots"
	say
	python3 "$lab_dir/figures.py" judge exact "$lab_plan" "$dir"
}

# figures_directory DIRECTORY CHOSEN: ready for figures, and with a root file
# system that makes them.  What lies there of other kernels goes; all does, unless
# some boots are chosen.
figures_directory() {
	local dir=$1 chosen=$2
	if [ "$chosen" -eq 0 ] || ! figures_are_current "$dir"; then
		rm -rf "$dir"
	fi
	mkdir -p "$dir"
	lab_root "$dir/root" "$lab_dir/guest/kbench.sh" kbench/kbench
	kernel_stamp switched >"$dir/stamp"
}

# figures_are_current DIRECTORY: are they of the kernels as they are now?
figures_are_current() {
	[ "$(cat "$1/stamp" 2>/dev/null)" = "$(kernel_stamp switched)" ]
}

# kbench_boot DIRECTORY BOOT KERNEL SWITCHES CASES: figures come to
# DIRECTORY/BOOT.log, whose last line is EXIT 0 if they are whole.
kbench_boot() {
	local dir=$1 name=$2 kernel=$3 switches=$4 cases=$5 rc=0 start=$SECONDS
	[ -z "$cases" ] || cases+=" $kbench_controls"
	boot_exact "$kernel" "$dir/root" "$dir/$name.log" \
		"$switches $(kbench_words 20 '' "$cases")" || rc=$?
	if [ $rc -eq 0 ]; then
		say "ok boot $name, $((SECONDS - start)) s"
	else
		say "FAILED boot $name: $(kbench_complaint "$dir/$name.log")"
	fi
}

# kbench_words SECONDS OPTIONS CASES: words of a kernel's command line that
# guest/kbench.sh understands, which sleeps so long first.
kbench_words() {
	local words=$2 cases
	read -r -a cases <<<"$3"
	[ ${#cases[@]} -eq 0 ] || words+=$(printf ' --case %s' "${cases[@]}")
	read -r words <<<"$words"
	say "kbench.sleep=$1 kbench.run=${words// /,}"
}

# The line in which kbench says what is wrong, or that it said nothing.
kbench_complaint() {
	grep -a '^kbench: ' "$1" || say "no word of it, see $1.console"
}
