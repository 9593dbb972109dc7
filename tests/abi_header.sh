#!/bin/sh
# SPDX-License-Identifier: MIT
# The public headers compile in every language mode a stranger may use; that of
# libwtrack-seccomp where it was built.
set -eu
: "${CC:=cc}" "${CXX:=c++}" "${SECCOMP_CFLAGS:=}"
: "${top_srcdir:=.}" "${top_builddir:=.}"

strict='-pedantic-errors -Wall -Wextra -Werror -Wundef -fsyntax-only'
code=$top_srcdir/tests/abi_header.c

seccomp=$top_srcdir/tests/abi_header_seccomp.c
test -e "$top_builddir/lib/libwtrack-seccomp.la" || seccomp=

for std in c89 c99 c11; do
	# The compilers' and flags' words are separate arguments.
	# shellcheck disable=SC2086
	$CC -std=$std $strict -I"$top_srcdir/include" $SECCOMP_CFLAGS \
		"$code" $seccomp
done
if ! command -v "${CXX%% *}" >/dev/null; then
	echo "no C++ compiler: C++11 was not tried"
	exit 77
fi
# shellcheck disable=SC2086
$CXX -x c++ -std=c++11 $strict -I"$top_srcdir/include" $SECCOMP_CFLAGS \
	"$code" $seccomp
