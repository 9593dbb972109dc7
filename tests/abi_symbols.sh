#!/bin/sh
# SPDX-License-Identifier: MIT
# What the built library exports and imports is what was promised: the map, the
# header and the shared object name the same functions, the archive leaks no
# foreign name, and nothing that allocates, prints or aborts is imported.
set -eu
: "${CC:=cc}" "${NM:=nm}" "${SANITIZER:=}" "${TEST_CFLAGS:=}"
: "${top_srcdir:=.}" "${top_builddir:=.}"
fail=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

bad() {
	echo "$1:"
	cat
	fail=1
}

sed -n 's/^[[:space:]]*\(wtrack_[a-z0-9_]*\);$/\1/p' \
	"$top_srcdir/lib/libwtrack.map" | sort >"$dir/map"
test -s "$dir/map"

printf '#include <wtrack.h>\n' |
	$CC -E -P -I"$top_srcdir/include" -x c - |
	tr '\n' ' ' | grep -o 'wtrack_[a-z0-9_]* *(' | tr -d ' (' |
	sort >"$dir/header"
diff "$dir/map" "$dir/header" >"$dir/diff" ||
	bad 'map (<) and wtrack.h (>) differ' <"$dir/diff"

so=$top_builddir/lib/.libs/libwtrack.so
if test -e "$so"; then
	# Type A is the map's version node itself.
	$NM -D --defined-only "$so" |
		awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
		sort >"$dir/so"
	diff "$dir/map" "$dir/so" >"$dir/diff" ||
		bad 'map (<) and libwtrack.so (>) differ' <"$dir/diff"
fi

# Runtimes of sanitizers and of coverage import what they like.
case $SANITIZER$TEST_CFLAGS in
*-fsanitize* | *--coverage*) so= ;;
esac
if test -e "$so"; then
	$NM -D --undefined-only "$so" | awk '{ sub(/@.*/, "", $2); print $2 }' |
		grep -xE -e '(m|c|re|v|pv)alloc|free|memalign|cfree' \
			-e 'posix_memalign|aligned_alloc|reallocarray' \
			-e '_?_?strn?dup|v?asprintf|getline|getdelim' \
			-e '(__)?v?[fds]?n?printf(_chk)?|f?puts|f?putc|perror' \
			-e 'fd?open|opendir|syslog|setlocale|dlopen|dlsym' \
			-e 'abort|_?exit|_Exit|__assert_fail|error|verrx?' \
			-e 'thrd_create|setenv|putenv' \
			-e 'std(out|err|in)' >"$dir/undefined" &&
		bad 'libwtrack.so imports' <"$dir/undefined"
fi

archive=$top_builddir/lib/.libs/libwtrack.a
if test -e "$archive"; then
	# One room may start a thread, where it was asked for.
	$NM -A --undefined-only "$archive" 2>"$dir/err" |
		grep -w pthread_create | grep -v backend_monitor \
		>"$dir/threads" && bad 'who starts threads' <"$dir/threads"
	$NM -g --defined-only "$archive" 2>"$dir/err" |
		awk 'NF == 3 { print $3 }' |
		grep -vE '^(wtrack|wt)_|^__(odr_)?(asan|tsan|ubsan|gcov)' \
			>"$dir/leaks" &&
		bad 'libwtrack.a leaks' <"$dir/leaks"
fi

test -e "$archive" || test -e "$top_builddir/lib/.libs/libwtrack.so" || {
	echo "no library in $top_builddir/lib/.libs"
	exit 1
}
exit $fail
