#!/bin/sh
# SPDX-License-Identifier: MIT
# Every exported symbol has a manual page, every page that a stub points to is
# there, and every page tells its errors and shows an example.
set -eu
: "${top_srcdir:=.}"
fail=0
man=$top_srcdir/man
symbols=$(sed -n 's/^[[:space:]]*\(wtrack_[a-z0-9_]*\);$/\1/p' \
	"$top_srcdir"/lib/*.map)
test -n "$symbols"

bad() {
	echo "$1"
	fail=1
}

for symbol in $symbols; do
	page=$man/$symbol.3
	test -f "$page" || {
		bad "no page man/$symbol.3"
		continue
	}
	target=$(sed -n 's/^\.so man3\///p' "$page")
	test -z "$target" || page=$man/$target
	test -f "$page" || {
		bad "man/$symbol.3 points to man/$target, which is missing"
		continue
	}
	for section in NAME SYNOPSIS DESCRIPTION ERRORS EXAMPLES; do
		grep -q "^\.SH $section\$" "$page" ||
			bad "$page has no section $section"
	done
	# The page's own text names the symbol, a stub's target too.
	grep -q "$symbol" "$page" || bad "$page does not tell of $symbol"
done
for page in "$man"/wtrack_*.3; do
	name=$(basename "$page" .3)
	printf '%s\n' "$symbols" | grep -qx "$name" ||
		bad "man/$name.3 is the page of no exported symbol"
done
exit $fail
