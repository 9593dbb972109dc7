#!/bin/sh
# SPDX-License-Identifier: MIT
# bash completes the commands, options and backends of wtrack(1).
set -u
command -v bash >/dev/null || {
	echo "# no bash"
	exit 77
}
# shellcheck source=tests/tool_lib.sh
. "${top_srcdir:?}/tests/tool_lib.sh"

# completes EXPECTED WORD...: the last word is completed, as bash does it.
completes() {
	expected=$1
	shift
	# The expansions are that bash's.
	# shellcheck disable=SC2016
	runs bash --norc -c '
		. "$1" || exit
		shift
		complete -p wtrack >/dev/null || exit
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_wtrack "$1" "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
		echo "${COMPREPLY[*]}"' \
		bash "$top_srcdir/tools/completions/wtrack" "$wtrack" "$@"
	exits 0 "completing $*"
	test "$(cat "$dir/out")" = "$expected" ||
		bad "wtrack $*: not '$expected'"
}

backends=$("$wtrack" probe --json |
	sed -n 's/^ *{"name": "\([a-z]*\)".*/\1/p' | tr '\n' ' ')
backends=${backends% }
test -n "$backends" || bad 'no backends'

completes 'probe selftest --help --version' ''
completes 'probe' p
completes '--help' --h
completes '--json' probe ''
completes '' probe --x
completes '--backend --seconds' selftest --
completes '--seconds' selftest --s
completes "$backends" selftest --backend ''
completes 'mprotect' selftest --backend mpr
completes 'mprotect' selftest --backend = mpr
completes "$backends" selftest --backend =
completes '--seconds' selftest --backend all --s
finish
