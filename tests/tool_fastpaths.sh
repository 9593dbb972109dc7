#!/bin/sh
# SPDX-License-Identifier: MIT
# wtrack probe on fast paths: the names stay, what it says is so, and what is
# refused is not known instead of missing.
set -u
# shellcheck source=tests/tool_lib.sh
. "${top_srcdir:?}/tests/tool_lib.sh"
facts=$top_builddir/tests/facts

# Names are a promise: rows are only ever added.
names='mprotect-upgrade uffd-upgrade one-fault-empty huge-write fault-around
short-scan reports-none reports-hole seal-by-mapping'
by_uffd='uffd-upgrade one-fault-empty huge-write fault-around short-scan
reports-none reports-hole'
by_scan='huge-write short-scan reports-none reports-hole'

# finds [COMMAND...]: what probe finds by way of it.
finds() {
	runs "$@" "$wtrack" probe --json
	test "$status" -le 2 || bad "probe by way of '$*': status $status"
	sed -n '/"fast_paths": {/,/^  }/p' "$dir/out" >"$dir/paths"
}

# value NAME: true, false or null; reason NAME.
value() {
	sed -n "s/^ *\"$1\": {\"works\": \([a-z]*\), .*/\1/p" "$dir/paths"
}
reason() {
	sed -n "s/^ *\"$1\": {.*\"reason\": \"\(.*\)\", \"seen.*/\1/p" \
		"$dir/paths"
}

# unknown REASON WHAT NAME...: these are, for that reason.
unknown() {
	why=$1 what=$2
	shift 2
	for name; do
		test "$(value "$name")" = null ||
			bad "$what: $name is not unknown"
		case $(reason "$name") in
		"$why"*) ;;
		*) bad "$what: $name is unknown for '$(reason "$name")'" ;;
		esac
	done
}

# was NAME: without anything refused.
was() {
	sed -n "s/^$1 //p" "$dir/here"
}

# same NAME...: as without anything refused.
same() {
	for name; do
		test "$(value "$name")" = "$(was "$name")" ||
			bad "$name changes with what is refused"
	done
}

# ---- names and form ----

finds
for name in $names; do
	case $(value "$name") in
	true | false)
		test -z "$(reason "$name")" || bad "$name: a reason, yet known"
		;;
	null) test -n "$(reason "$name")" || bad "$name: unknown, no reason" ;;
	*) bad "no path $name" ;;
	esac
	echo "$name $(value "$name")" >>"$dir/here"
	grep -qxF ".B $(echo "$name" | sed 's/-/\\-/g')" \
		"$top_srcdir/man/wtrack.1" || bad "wtrack.1 lacks $name"
done
# shellcheck disable=SC2086
test "$(grep -c '"works"' "$dir/paths")" -eq "$(set -- $names && echo $#)" ||
	bad 'there are paths that this test does not know'

# A person is told the same.
runs "$wtrack" probe
while read -r name known; do
	case $known in
	true) word=yes ;;
	false) word=no ;;
	*) word=unknown: ;;
	esac
	grep -q "^  $name  *$word " "$dir/out" || bad "$name is not '$word'"
done <"$dir/here"

# ---- the answers ----

# It is not said of the same kernel now so and now so.
rounds=5
while test $rounds -gt 0; do
	rounds=$((rounds - 1))
	finds
	# shellcheck disable=SC2086
	same $names
done

# Found out in other ways.
"$facts" >"$dir/facts"
test -s "$dir/facts" || bad 'no facts'
while read -r name known; do
	test "$(value "$name")" = "$known" ||
		bad "$name is said to be $(value "$name"), and is $known"
done <"$dir/facts"
echo "# $(wc -l <"$dir/facts") facts"

kernel() {
	sed -n "s/^ *\"$1\": {\"works\": \([a-z]*\), .*/\1/p" "$dir/out"
}
if test "$(kernel discarded_block)" != null; then
	test "$(value reports-hole)" = "$(kernel discarded_block)" ||
		bad 'reports-hole is not what the library found'
fi
# The short loops are as old as the call; those that are not, are not released.
if test "$(kernel pagemap_scan)/$(kernel uffd_wp_async)" = true/true; then
	case $(value short-scan)/$(reason short-scan) in
	true/ | null/*' tells nothing' | null/'the clock is'*) ;;
	*) bad 'no short-scan' ;;
	esac
	test "$(value reports-none)" != null || bad 'reports-none is unknown'
fi

# ---- what is refused ----

doors='userfaultfd:EPERM,open:EACCES'
finds env WTRACK_FAIL=$doors
# shellcheck disable=SC2086
unknown 'userfaultfd: EPERM' "$doors" $by_uffd
same mprotect-upgrade seal-by-mapping
runs env WTRACK_FAIL=$doors "$wtrack" probe
says 'unknown: userfaultfd: EPERM' "$doors"

finds env WTRACK_FAIL=open:ENOENT
# shellcheck disable=SC2086
unknown '/proc/self/pagemap: ENOENT' 'without pagemap' $by_scan
same mprotect-upgrade uffd-upgrade fault-around one-fault-empty

finds env WTRACK_FAIL=mprotect:EPERM
unknown 'mprotect: EPERM' 'without mprotect' mprotect-upgrade
same uffd-upgrade fault-around short-scan

"$refuse" --nobody "$wtrack" --version >/dev/null 2>&1 || {
	echo "# without root, other users and filters are left out"
	finish
}

# No privilege is needed.
finds "$refuse" --nobody
case $(kernel uffd_wp_async) in
true)
	# shellcheck disable=SC2086
	same $names
	;;
esac

# As in a container.
finds "$refuse" --nobody userfaultfd:1
# shellcheck disable=SC2086
unknown 'userfaultfd: EPERM' 'in a container' $by_uffd
same mprotect-upgrade seal-by-mapping

# 25 is ENOTTY, as before Linux 6.7; 22 is EINVAL, 1 EPERM.
if test "$(was short-scan)" = true; then
	finds "$refuse" ioctl=0xc0606610:25
	# shellcheck disable=SC2086
	unknown 'PAGEMAP_SCAN: ENOTTY' 'without PAGEMAP_SCAN' $by_scan
	same mprotect-upgrade uffd-upgrade fault-around
	finds "$refuse" ioctl=0xc018aa06:1
	unknown 'UFFDIO_WRITEPROTECT: EPERM' 'without write protection' \
		uffd-upgrade one-fault-empty fault-around short-scan
	same reports-hole mprotect-upgrade
	finds "$refuse" ioctl=0xc018aa3f:22
	unknown 'userfaultfd: E' 'without a handshake' uffd-upgrade
fi

test "$(was seal-by-mapping)" = null || {
	finds "$refuse" pipe:24
	unknown 'pipe: EMFILE' 'without a pipe' seal-by-mapping
	same uffd-upgrade fault-around
}

# 11 is EAGAIN.
finds "$refuse" clone:11
# shellcheck disable=SC2086
unknown 'fork: EAGAIN' 'without processes' $names
finish
