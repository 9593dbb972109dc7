#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kernels.sh CONSUMER TEST...: runs this build's tests on other kernels than
# that of the machine: Debian's, in virtual machines.  make check-kernels calls
# it in the build directory.
#
# The last line is the sum over all kernels: "N passed, N failed, N skipped".
# Exits non-zero when a test failed, or a backend is missing on a kernel that
# has what it needs.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/vm.sh
. "$(dirname "$0")/vm.sh"

# A series, and the backends that must open there.
kernels=(
	"6.1 wp monitor softdirty mprotect all"
	"6.12 scan async wp monitor softdirty mprotect all"
)
# An emulated processor is some twenty times slower, beside a build sixty.
boot_seconds=${WTRACK_BOOT_SECONDS:-720}
out=$PWD/vm/kernels
passed=0 failed=0 skipped=0 table=''

main() {
	local consumer=$1 kernel why
	shift
	why=$(vm_lacks)
	if [ -n "$why" ]; then
		say "SKIP: kernels - $why"
		say "0 passed, 0 failed, 1 skipped"
		return
	fi
	"$root/scripts/deps.sh" "${vm_packages[@]}"
	mkdir -p "$out"
	test_root "$out/root" "$consumer" "$@"
	for kernel in "${kernels[@]}"; do
		if [ -n "${WTRACK_KERNELS:-}" ] &&
			! [[ " $WTRACK_KERNELS " == *" ${kernel%% *} "* ]]; then
			continue
		fi
		# Split into words.
		# shellcheck disable=SC2086
		run_kernel $kernel
	done
	say
	{
		say "kernel|backends|passed|failed|skipped|seconds"
		printf '%s' "$table"
	} | column -t -s '|'
	say
	say "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}

# run_kernel SERIES BACKEND...
run_kernel() {
	local series=$1 log=$out/$1.log start=$SECONDS p f s backends
	shift
	if ! fetch_kernel "$series"; then
		say "FAILED $series: no kernel"
		failed=$((failed + 1))
		table+="$series|no kernel|0|1|0|0"$'\n'
		return
	fi
	boot_tests "$boot_seconds" "$kernel_cache/$series/vmlinuz" \
		"$out/root.cpio" "$log" "$*" | sed "s/^/$series: /"
	read -r _ p f s backends < <(grep '^TOTAL' "$log.sum")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	table+="$kernel_version|$backends|$p|$f|$s|$((SECONDS - start))"$'\n'
}

main "$@"
