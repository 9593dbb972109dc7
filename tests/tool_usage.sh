#!/bin/sh
# SPDX-License-Identifier: MIT
# wtrack(1) refuses what it does not know in one line, and tells what it does.
set -u
# shellcheck source=tests/tool_lib.sh
. "${top_srcdir:?}/tests/tool_lib.sh"

# refuses ARGUMENT...: one line on stderr, nothing on stdout, EX_USAGE.
refuses() {
	runs "$wtrack" "$@"
	exits 64 "wtrack $*"
	test "$(wc -l <"$dir/err")" -eq 1 || bad "wtrack $*: not one line"
	test ! -s "$dir/out" || bad "wtrack $*: something on stdout"
	grep -q '^wtrack: ' "$dir/err" || bad "wtrack $*: who says it?"
}

refuses
refuses ''
refuses nonsense
refuses -x
refuses --nonsense
refuses --version=1
refuses probe nonsense
refuses probe --nonsense
refuses probe -j
refuses probe --json=1
refuses selftest nonsense
refuses selftest --nonsense
refuses selftest --backend
refuses selftest --backend nonsense
refuses selftest --backend ''
refuses selftest --seconds
for seconds in 0 -1 3601 1x x '' 1.5 99999999999999999999; do
	refuses selftest "--seconds=$seconds"
done

runs "$wtrack" --version
exits 0 --version
version=$(sed -n 's/^.define WTRACK_VERSION_[MP][A-Z]* *//p' \
	"$top_srcdir/include/wtrack.h" | tr '\n' '.' | sed 's/\.$//')
test "$(cat "$dir/out")" = "wtrack $version" || bad "not version $version"

runs "$wtrack" --help
exits 0 --help
says 'Usage: wtrack' --help
# The page and the completion know every option and command.
for word in $(grep -oE -e '--[a-z]+' "$dir/out" | sort -u) probe selftest; do
	grep -q -e "$(printf '%s' "$word" | sed 's/-/\\\\-/g')" \
		"$top_srcdir/man/wtrack.1" || bad "wtrack.1 lacks $word"
	grep -q -e "$word" "$top_srcdir/tools/completions/wtrack" ||
		bad "the completion lacks $word"
done

# The names of capabilities are the header's, in the order of their bits.
caps=$(sed -n 's/^.define WTRACK_CAP_\([A-Z_]*\) .*/\1/p' \
	"$top_srcdir/include/wtrack.h" | tr 'A-Z_\n' 'a-z- ')
runs sed -n '/cap_names/,/;/s/[^"]*"\([a-z-]*\)"[^"]*/\1 /gp' \
	"$top_srcdir/tools/items.c"
test "$(tr -d '\n' <"$dir/out")" = "$caps" || bad "capabilities are $caps"

# What cannot be written is not told to be.
if test -w /dev/full; then
	status=0
	"$wtrack" --help >/dev/full 2>"$dir/err" || status=$?
	exits 74 'a full device'
fi
finish
