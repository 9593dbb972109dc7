#!/bin/sh
# SPDX-License-Identifier: MIT
# wtrack selftest: passes on each backend that works, says which does not, and
# fails when writes are lost or invented.
set -u
: "${CC:=cc}" "${SANITIZER:=}"
# shellcheck source=tests/tool_lib.sh
. "${top_srcdir:?}/tests/tool_lib.sh"

backends() {
	"$wtrack" probe --json |
		sed -n "s/^ *{\"name\": \"\([a-z]*\)\", \"works\": $1,.*/\1/p"
}

tried=0
for backend in $(backends true); do
	runs "$wtrack" selftest --backend "$backend" --seconds 1
	exits 0 "selftest of $backend"
	says ' 0 pages lost, 0 pages wrong: ok' "selftest of $backend"
	says "$backend: " "selftest of $backend"
	test "$(wc -l <"$dir/out")" -eq 1 || bad 'not one line'
	tried=$((tried + 1))
done
test $tried -gt 0 || bad 'no backend was tried'
for backend in $(backends false); do
	runs "$wtrack" selftest --backend "$backend"
	exits 2 "selftest of $backend, which does not work"
done

runs env WTRACK_BACKEND=all "$wtrack" selftest
exits 0 'selftest of what the environment names'
says 'all: ' 'selftest of what the environment names'
runs env WTRACK_BACKEND=nonsense "$wtrack" selftest --backend all
exits 0 'the command line goes before the environment'
runs env WTRACK_FAIL=userfaultfd:EPERM,open:EACCES "$wtrack" selftest \
	--backend scan
exits 2 'selftest of a backend that is forbidden'
says 'scan: does not work here: E' 'selftest of a backend that is forbidden'

# A preloaded library that loses every third run, or adds pages to one.
if test -z "$SANITIZER" && test -e "$dir/libwtrack.so"; then
	$CC -shared -fPIC -D_GNU_SOURCE -I"$top_srcdir/include" \
		"$top_srcdir/tests/lossy.c" -o "$dir/lossy.so" -ldl ||
		bad 'lossy.c does not compile'
	for backend in $(backends true); do
		test "$backend" != all || continue
		for what in LOSE INVENT; do
			runs env LD_PRELOAD="$dir/lossy.so" $what=1 \
				"$wtrack" selftest --backend "$backend"
			exits 1 "$what with $backend"
			says FAILED "$what with $backend"
		done
	done
fi
finish
