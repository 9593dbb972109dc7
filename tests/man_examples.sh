#!/bin/sh
# SPDX-License-Identifier: MIT
# The program in every page's EXAMPLES compiles without a warning, links to the
# library and does what its page says: it exits with 0.
set -eu
: "${CC:=cc}" "${TEST_CFLAGS:=}" "${SANITIZER:=}" "${SECCOMP_CFLAGS:=}"
: "${top_srcdir:=.}" "${top_builddir:=.}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
count=0
fail=0

# Linked without libtool, which takes longer than all the rest; what a library
# itself needs is in its .la file.
lib=$top_builddir/lib/.libs
flags_of() {
	needs=$(sed -n "s/^dependency_libs='\(.*\)'\$/\1/p" \
		"$top_builddir/lib/lib$1.la")
	if test -e "$lib/lib$1.so"; then
		echo "-L$lib -l$1 -Wl,-rpath,$lib $needs"
	else
		echo "$lib/lib$1.a $needs"
	fi
}
libs=$(flags_of wtrack)
libs_seccomp=
test ! -e "$top_builddir/lib/libwtrack-seccomp.la" ||
	libs_seccomp=$(flags_of wtrack-seccomp)

# Prints the text between .EX and .EE of a page's EXAMPLES, roff undone; \e
# comes last, so that the backslashes it makes are not read again.
extract() {
	awk '/^\.SH / { on = ($2 == "EXAMPLES"); ex = 0 }
	     /^\.EE/ { ex = 0 }
	     on && ex && !/^\./ { print }
	     /^\.EX/ { ex = 1 }' "$1" |
		sed -e 's/\\&//g' -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" \
			-e 's/\\(dq/"/g' -e 's/\\(ti/~/g' -e 's/\\(ha/^/g' \
			-e 's/\\(ga/`/g' -e 's/\\f[BIRP]//g' -e 's/\\e/\\/g'
}

for page in "$top_srcdir"/man/wtrack_*.3; do
	grep -q '^\.so ' "$page" && continue
	name=$(basename "$page" .3)
	also=
	case $name in
	wtrack_seccomp_*)
		test -n "$libs_seccomp" || continue
		also="$SECCOMP_CFLAGS $libs_seccomp"
		;;
	esac
	count=$((count + 1))
	extract "$page" >"$dir/$name.c"
	# The flags' words are separate arguments.
	# shellcheck disable=SC2086
	if ! $CC $TEST_CFLAGS -Wall -Wextra -Werror -pthread \
		-I"$top_srcdir/include" "$dir/$name.c" -o "$dir/$name" \
		$also $libs
	then
		echo "not ok: the example of $name.3 does not compile"
		fail=1
		continue
	fi
	# A sanitizer's runtime makes calls that no filter of ours allows.
	test -z "$also" || test -z "$SANITIZER" || continue
	rc=0
	(cd "$dir" && timeout 60 "./$name") >"$dir/out" 2>&1 </dev/null || rc=$?
	if test $rc -ne 0; then
		echo "not ok: the example of $name.3 exits with $rc"
		cat "$dir/out"
		fail=1
	fi
done
echo "$count examples"
test $count -gt 0 && exit $fail
