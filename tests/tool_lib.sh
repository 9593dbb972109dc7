# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# What the tests of wtrack(1) share: the program, where anybody may run it.
# Variables are read by the tests.
# shellcheck disable=SC2034
: "${top_builddir:=.}" "${top_srcdir:=.}"
refuse=$top_builddir/tests/refuse
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# Copied: others than its owner may not reach the directory of the build.
chmod 755 "$dir"
if test -e "$top_builddir/tools/.libs/wtrack"; then
	cp "$top_builddir/tools/.libs/wtrack" "$dir/wtrack"
	cp "$top_builddir"/lib/.libs/libwtrack.so* "$dir"
	LD_LIBRARY_PATH=$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
else
	cp "$top_builddir/tools/wtrack" "$dir/wtrack"
fi
wtrack=$dir/wtrack
unset WTRACK_BACKEND WTRACK_FAIL

# runs COMMAND...: its status in $status, what it says in $dir/out and err.
runs() {
	status=0
	"$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

bad() {
	echo "not ok: $1"
	cat "$dir/out" "$dir/err"
	failed=1
}

# exits STATUS WHAT: the last command did.
exits() {
	test "$status" -eq "$1" || bad "$2: status $status and not $1"
}

# says TEXT WHAT: the last command did, on one line of its output.
says() {
	grep -qF -e "$1" "$dir/out" || bad "$2: it does not say '$1'"
}

# finish: skipped is not failed.
finish() {
	exit $failed
}
