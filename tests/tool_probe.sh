#!/bin/sh
# SPDX-License-Identifier: MIT
# wtrack probe: what it exits with, valid JSON, and the right advice where
# filters and users without privileges have less.
set -u
# shellcheck source=tests/tool_lib.sh
. "${top_srcdir:?}/tests/tool_lib.sh"

# The grade that JSON told, as an exit status.
grade() {
	case $(sed -n 's/^  "tracking": "\(.*\)"$/\1/p' "$dir/out") in
	full) echo 0 ;;
	fallback) echo 1 ;;
	nothing) echo 2 ;;
	esac
}

valid_json() {
	if command -v python3 >/dev/null; then
		python3 - "$dir/out" <<'EOF' || bad "$1: no valid JSON"
import json, sys
probe = json.load(open(sys.argv[1]))
for group in ("doors", "kernel"):
    for name, item in probe[group].items():
        assert set(item) == {"works", "error", "advice"}, name
        assert (item["works"] is False) == (item["error"] is not None), name
        assert item["advice"] is None or item["works"] is False, name
        assert item["advice"] or item["works"] is not False, name
works = {b["name"]: b["works"] for b in probe["backends"]}
assert works["all"] is True
if probe["open"]["error"] is None:
    assert works[probe["open"]["backend"]] is True
caps = set(probe["open"]["capabilities"])
full = {"precise", "kernel-writes", "no-signal"} <= caps
assert probe["tracking"] == ("full" if full else
                             "fallback" if "precise" in caps else "nothing")
EOF
	else
		# Without a parser: as many brackets open as close.
		for pair in '{}' '[]'; do
			test "$(tr -cd "${pair%?}" <"$dir/out" | wc -c)" -eq \
				"$(tr -cd "${pair#?}" <"$dir/out" | wc -c)" ||
				bad "$1: $pair do not match"
		done
	fi
}

# both WHAT [COMMAND...]: probe by way of it, for programs and for a person.
both() {
	what=$1
	shift
	runs "$@" "$wtrack" probe --json
	valid_json "$what"
	exits "$(grade)" "$what: the JSON and the status agree"
	json=$status
	runs "$@" "$wtrack" probe
	exits "$json" "$what: status with and without --json"
	test ! -s "$dir/err" || bad "$what: something on stderr"
}

both 'this machine'
here=$status

both 'forced to mprotect' env WTRACK_BACKEND=mprotect
if grep -q '^  mprotect .* yes' "$dir/out"; then
	exits 1 'forced to mprotect'
	says 'open takes mprotect, which WTRACK_BACKEND names' 'mprotect'
	says 'not kernel-writes: ' 'forced to mprotect'
fi
both 'forced to all' env WTRACK_BACKEND=all
exits 2 'forced to all'
says 'not precise: ' 'forced to all'
both 'forced to nonsense' env WTRACK_BACKEND=nonsense
exits 2 'forced to nonsense'
says "open fails with EINVAL: WTRACK_BACKEND names 'nonsense'" 'nonsense'

both 'with nothing left' env \
	WTRACK_FAIL=open:EACCES,userfaultfd:EPERM,mprotect:EPERM
exits 2 'with nothing left'
says 'PR_SET_DUMPABLE' 'with nothing left'
both 'an old kernel' env WTRACK_FAIL=userfaultfd:EINVAL,open:ENOENT
says 'it takes Linux 5.11' 'an old kernel'
says 'CONFIG_PROC_PAGE_MONITOR' 'an old kernel'
says '--device /dev/userfaultfd' 'an old kernel'
both 'a kernel without it' env WTRACK_FAIL=userfaultfd:ENOSYS,open:ENOENT
says 'CONFIG_USERFAULTFD' 'a kernel without it'
both 'only user mode' env \
	WTRACK_FAIL=open:EACCES@1,userfaultfd:EPERM@1
runs env WTRACK_FAIL=nonsense "$wtrack" probe
exits 71 'a malformed WTRACK_FAIL'
test "$(wc -l <"$dir/err")" -eq 1 || bad 'a malformed WTRACK_FAIL: one line'

# ---- as another user, and behind filters ----

"$refuse" --nobody "$wtrack" --version >/dev/null 2>&1 || {
	echo "# without root, other users and filters are left out"
	finish
}

both 'as nobody' "$refuse" --nobody
if grep -q 'user mode only *yes' "$dir/out"; then
	exits "$here" 'as nobody'
	! grep -q 'EACCES' "$dir/out" || says 'no need to: one way' 'as nobody'
fi

# What docker does to userfaultfd: 1 is EPERM.
both 'in a container' "$refuse" --nobody userfaultfd:1
exits 1 'in a container'
says 'run it with --device /dev/userfaultfd, or with a seccomp profile that allows userfaultfd' \
	'in a container'
both 'in another container' "$refuse" --nobody userfaultfd:38
exits 1 'in another container'
says 'a seccomp filter forbids userfaultfd' 'in another container'

# 25 is ENOTTY, as before Linux 6.7.
both 'without PAGEMAP_SCAN' "$refuse" ioctl=0xc0606610:25
says 'it takes Linux 6.7' 'without PAGEMAP_SCAN'
both 'with PAGEMAP_SCAN forbidden' "$refuse" ioctl=0xc0606610:1
says 'a seccomp filter forbids one of its ioctls' 'PAGEMAP_SCAN forbidden'
finish
