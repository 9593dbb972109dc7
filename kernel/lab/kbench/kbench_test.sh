#!/bin/sh
# SPDX-License-Identifier: MIT
# kbench on the running kernel, with little memory: each case measures or says
# why not, and a wrong argument is refused.  And figures.py: a ratio that is too
# high fails, one that is allowed to with a reason is skipped, and figures that
# are missing fail.
set -eu
kbench=${top_builddir:?}/kernel/lab/kbench/kbench
judge=${top_srcdir:?}/kernel/lab/figures.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "$*" >&2
	exit 1
}

# judged WANTED-LINE WANTED-STATUS
judged() {
	rc=0
	python3 "$judge" judge exact "$work" "$work" >"$work/out" || rc=$?
	if [ "$(tail -n 1 "$work/out")" != "$1" ] || [ $rc -ne "$2" ]; then
		cat "$work/out"
		fail "judged with status $rc, not $2 and '$1'"
	fi
}

# Not those of huge pages, which this machine may be short of.
set -- --case 'mprotect.*' --case 's[0234].*' --case 'scan.*' \
	--case 'entries.*' --case 'uffd.*' --case 'empty.*' --case 'fault.*' --case 'k8.*'
"$kbench" --scale small --iterations 1 "$@" >"$work/all"
"$kbench" --list "$@" >"$work/list"
[ "$(grep -cE '^kbench [^ ]+ ([0-9]+( ([0-9]+|-)){8}|skip .+)$' "$work/all")" \
	-eq "$(wc -l <"$work/list")" ] || fail "not one line a case: $(cat "$work/all")"

for wrong in '--case nothing' '--iterations 0' '--scale tiny' --case --wrong; do
	rc=0
	# Split into words.
	# shellcheck disable=SC2086
	"$kbench" $wrong >"$work/out" 2>&1 || rc=$?
	if [ $rc -ne 2 ] || [ "$(wc -l <"$work/out")" -ne 1 ]; then
		fail "kbench $wrong: status $rc, $(cat "$work/out")"
	fi
done

command -v python3 >/dev/null || exit 0
: >"$work/pairs.tsv"
printf 'kbench c 10 %s 0 2 0 0 0 - -\nEXIT 0\n' 1000 >"$work/off-x.log"
printf 'kbench c 10 %s 0 1 0 0 0 - -\nEXIT 0\n' 500 >"$work/on.log"
printf 'K\texact\tx\tc\tinstructions\t<=0.5\nK\texact\tx\tc\tflushes\t=1\n' \
	>"$work/targets.tsv"
judged "2 passed, 0 failed, 0 skipped" 0
printf 'K\texact\tx\tc\tinstructions\t<=0.4\n' >>"$work/targets.tsv"
judged "2 passed, 1 failed, 0 skipped" 1
printf 'K\texact\tx\tc\tfaster\t>=3\t2.5\tit has a reason\n' >>"$work/targets.tsv"
judged "2 passed, 1 failed, 1 skipped" 1
# Two cases of one boot.
printf 'kbench d 10 %s 0 2 0 0 0 - -\nEXIT 0\n' 5000 >"$work/both.log"
sed -i '$d' "$work/both.log"
cat "$work/on.log" >>"$work/both.log"
printf 'same\tboth\tboth\n' >>"$work/pairs.tsv"
printf 'K\texact\tsame\td > c\tinstructions\t=0.1\n' >>"$work/targets.tsv"
judged "3 passed, 1 failed, 1 skipped" 1
# A boot that did not end well has measured nothing.
sed -i '$d' "$work/on.log"
judged "1 passed, 4 failed, 0 skipped" 1
