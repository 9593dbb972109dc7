#!/bin/sh
# SPDX-License-Identifier: MIT
# Every tag in the code resolves: a guarantee to the list in wtrack.h, a kernel
# fact to its row in kernel/FACTS.md; and every guarantee is cited by a test.
set -eu
: "${top_srcdir:=.}"
cd "$top_srcdir"
fail=0

tags() {
	pattern=$1
	shift
	grep -rhoE --include='*.[ch]' --include='*.sh' "$pattern" "$@" | sort -u
}

guarantees=$(grep -oE '^ \*  \[G[0-9]+\]' include/wtrack.h | tr -d ' *')
facts=$(grep -E '^(#|\|)' kernel/FACTS.md | grep -oE '\[K-[a-z0-9-]+\]' || :)
test -n "$guarantees"

for tag in $(tags '\[G[0-9]+\]' lib tests); do
	printf '%s\n' "$guarantees" | grep -qxF "$tag" || {
		echo "$tag is no guarantee of wtrack.h:"
		grep -rnF "$tag" lib tests
		fail=1
	}
done
for tag in $(tags '\[K-[a-z0-9-]+\]' lib tests); do
	printf '%s\n' "$facts" | grep -qxF "$tag" || {
		echo "$tag has no heading or row in kernel/FACTS.md:"
		grep -rnF "$tag" lib tests
		fail=1
	}
done
for tag in $guarantees; do
	grep -rqF --include='*.c' "$tag" tests || {
		echo "no test cites $tag"
		fail=1
	}
done
exit $fail
