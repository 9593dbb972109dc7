#!/bin/sh
# SPDX-License-Identifier: MIT
# The public header compiles in every language mode a stranger may use.
set -eu
: "${CC:=cc}" "${CXX:=c++}" "${top_srcdir:=.}"

strict='-pedantic-errors -Wall -Wextra -Werror -Wundef -fsyntax-only'
code=$top_srcdir/tests/abi_header.c

for std in c89 c99 c11; do
	# The compilers' and flags' words are separate arguments.
	# shellcheck disable=SC2086
	$CC -std=$std $strict -I"$top_srcdir/include" "$code"
done
if ! command -v "${CXX%% *}" >/dev/null; then
	echo "no C++ compiler: C++11 was not tried"
	exit 77
fi
# shellcheck disable=SC2086
$CXX -x c++ -std=c++11 $strict -I"$top_srcdir/include" "$code"
