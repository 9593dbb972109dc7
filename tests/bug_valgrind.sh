#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the library under valgrind.
#
# PRL-PRG/UFOs#16: valgrind answers userfaultfd with ENOSYS, and the program
# ends; it must fall back.  wine under valgrind: an ioctl gets a structure with
# bytes that nobody has set.
set -u

tests=${top_builddir:?}/tests
log=bug_valgrind.$$.log
trap 'rm -f "$log"' EXIT

skip() {
	echo "# skipped: $1"
	exit 77
}

[ -z "${SANITIZER-}" ] || skip "the program has a sanitizer"
command -v valgrind >/dev/null || skip "no valgrind"
valgrind -q true >/dev/null 2>&1 || skip "valgrind does not work here"
[ "$(id -u)" -eq 0 ] || skip "it needs root"

# No error at all, on the backend that needs no userfaultfd: where the kernel has
# none, and with threads where /proc cannot be read.
falls_back() {
	if valgrind -q --error-exitcode=9 "$tests/$1" "$2" >"$log" 2>&1; then
		return
	fi
	if grep -q 'debuginfo reader' "$log"; then
		skip "valgrind cannot read this compiler's debug information"
	fi
	cat "$log"
	echo "# $2: it does not fall back, or not without errors"
	exit 1
}
falls_back bug_privilege userfaultfd_is_filtered_with_enosys
falls_back live_sandbox_limits undumpable_from_the_start_falls_back

# valgrind does not know what PAGEMAP_SCAN stores, and takes results for
# garbage: only what goes into the kernel is looked at.
if ! valgrind -q "$tests/unit_errors_collect" >"$log" 2>&1; then
	cat "$log"
	exit 1
fi
if grep 'Syscall param' "$log"; then
	cat "$log"
	echo "# the kernel was given bytes that nobody has set"
	exit 1
fi
exit 0
