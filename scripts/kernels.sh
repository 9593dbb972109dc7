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
	"6.12 scan wp monitor softdirty mprotect all"
)
# An emulated processor is some twenty times slower, beside a build sixty.
boot_seconds=${WTRACK_BOOT_SECONDS:-720}
test_seconds=${WTRACK_TEST_SECONDS:-240}
out=$PWD/vm/kernels
passed=0 failed=0 skipped=0 table='' names=()

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
	make_root "$consumer" "$@"
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

make_root() {
	local dir=$out/root consumer=$1 test programs=()
	shift
	new_root "$dir"
	mkdir -p "$dir/tests" "$dir/lib/.libs"
	add_program "$consumer" "$dir/consumer"
	programs=("$dir/consumer")
	for test in "$@"; do
		add_program "$test" "$dir/tests/$(basename "$test")"
		programs+=("$dir/tests/$(basename "$test")")
		names+=("$(basename "$test")")
	done
	add_libraries "$dir" "${programs[@]}"
	if [ -e lib/.libs/libwtrack.so ]; then
		cp -L lib/.libs/libwtrack.so "$dir/lib/.libs/"
	fi
	cp "$root/scripts/guest/tests.sh" "$dir/payload"
	cat >"$dir/settings" <<-END
		export WTRACK_STRESS_SECONDS=${WTRACK_STRESS_SECONDS:-2}
		export WTRACK_EMULATED=1
		WTRACK_TEST_SECONDS=$test_seconds
	END
	pack_root "$dir"
}

# run_kernel SERIES BACKEND...
run_kernel() {
	local series=$1 log=$out/$1.log start=$SECONDS rc=0 p f s backends
	shift
	if ! fetch_kernel "$series"; then
		say "FAILED $series: no kernel"
		failed=$((failed + 1))
		table+="$series|no kernel|0|1|0|0"$'\n'
		return
	fi
	boot "$boot_seconds" "$kernel_cache/$series/vmlinuz" "$out/root.cpio" \
		"$log" "hugepages=128 mitigations=off" -smp 2 -m 2G -cpu max || rc=$?
	awk -v backends="$*" -v rc=$rc -v tests="${names[*]}" \
		-f "$root/scripts/judge.awk" "$log" >"$log.sum"
	sed -n 's/^[A-Z]* [^ ]*/&/p' "$log.sum" | grep -v '^TOTAL' |
		sed "s/^/$series: /" || :
	read -r _ p f s backends < <(grep '^TOTAL' "$log.sum")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	table+="$kernel_version|$backends|$p|$f|$s|$((SECONDS - start))"$'\n'
}

main "$@"
