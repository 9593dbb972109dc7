#!/bin/sh
# SPDX-License-Identifier: MIT
# What each built library exports and imports is what was promised: the map, the
# header and the shared object name the same functions, the archive leaks no
# foreign name, and nothing that allocates, prints or aborts is imported.
set -eu
: "${CC:=cc}" "${NM:=nm}" "${SANITIZER:=}" "${TEST_CFLAGS:=}"
: "${SECCOMP_CFLAGS:=}"
: "${top_srcdir:=.}" "${top_builddir:=.}"
fail=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

bad() {
	echo "$1:"
	cat
	fail=1
}

# What NAME.map, the header and the shared object name.
check_names() {
	name=$1 header=$2
	sed -n 's/^[[:space:]]*\(wtrack_[a-z0-9_]*\);$/\1/p' \
		"$top_srcdir/lib/$name.map" | sort >"$dir/map"
	test -s "$dir/map"
	# The flags' words are separate arguments.
	# shellcheck disable=SC2086
	printf '#include <%s>\n' "$header" |
		$CC -E -P -I"$top_srcdir/include" $SECCOMP_CFLAGS -x c - |
		tr '\n' ' ' | grep -o 'wtrack_[a-z0-9_]* *(' | tr -d ' (' |
		sort >"$dir/header"
	diff "$dir/map" "$dir/header" >"$dir/diff" ||
		bad "$name.map (<) and $header (>) differ" <"$dir/diff"
	test -e "$lib/$name.so" || return 0
	# Type A is the map's version node itself.
	$NM -D --defined-only "$lib/$name.so" |
		awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
		sort >"$dir/so"
	diff "$dir/map" "$dir/so" >"$dir/diff" ||
		bad "$name.map (<) and $name.so (>) differ" <"$dir/diff"
}

check_imports() {
	test -e "$lib/$1.so" || return 0
	# Runtimes of sanitizers and of coverage import what they like.
	case $SANITIZER$TEST_CFLAGS in
	*-fsanitize* | *--coverage*) return 0 ;;
	esac
	$NM -D --undefined-only "$lib/$1.so" |
		awk '{ sub(/@.*/, "", $2); print $2 }' |
		grep -xE -e '(m|c|re|v|pv)alloc|free|memalign|cfree' \
			-e 'posix_memalign|aligned_alloc|reallocarray' \
			-e '_?_?strn?dup|v?asprintf|getline|getdelim' \
			-e '(__)?v?[fds]?n?printf(_chk)?|f?puts|f?putc|perror' \
			-e 'fd?open|opendir|syslog|setlocale|dlopen|dlsym' \
			-e 'abort|_?exit|_Exit|__assert_fail|error|verrx?' \
			-e 'thrd_create|setenv|putenv' \
			-e 'std(out|err|in)' >"$dir/undefined" &&
		bad "$1.so imports" <"$dir/undefined"
	return 0
}

check_leaks() {
	test -e "$lib/$1.a" || return 0
	# One room may start a thread, where it was asked for.
	$NM -A --undefined-only "$lib/$1.a" 2>"$dir/err" |
		grep -w pthread_create | grep -v backend_monitor \
		>"$dir/threads" && bad "who starts threads" <"$dir/threads"
	$NM -g --defined-only "$lib/$1.a" 2>"$dir/err" |
		awk 'NF == 3 { print $3 }' |
		grep -vE '^(wtrack|wt)_|^__(odr_)?(asan|tsan|ubsan|gcov)' \
			>"$dir/leaks" &&
		bad "$1.a leaks" <"$dir/leaks"
	return 0
}

check() {
	test -e "$lib/$1.a" || test -e "$lib/$1.so" || {
		echo "no $1 in $lib"
		exit 1
	}
	check_names "$1" "$2"
	check_imports "$1"
	check_leaks "$1"
}

lib=$top_builddir/lib/.libs
check libwtrack wtrack.h
test ! -e "$top_builddir/lib/libwtrack-seccomp.la" ||
	check libwtrack-seccomp wtrack-seccomp.h
exit $fail
