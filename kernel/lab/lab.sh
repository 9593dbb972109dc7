#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lab.sh COMMAND [ARGUMENT]...: builds, tests and measures kernels with the
# patches of kernel/patches.  kernel/README.md tells what each command does;
# make check-kernel calls it in the build directory.
#
# The last line of each command that tests is "N passed, N failed, N skipped".
# Exits non-zero when something failed.
# shellcheck disable=SC2034
set -euo pipefail
shopt -s inherit_errexit
lab_dir=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$lab_dir/../../scripts/lib.sh"

# The kernel that the patches are for, and the machine.
lab_series=${WTRACK_LAB_SERIES:-6.12}
lab_arch=${WTRACK_LAB_ARCH:-x86_64}
lab_plan=$lab_dir/plan/$lab_series-$lab_arch
[ -f "$lab_plan/plan.sh" ] || {
	say "lab: there is no plan for Linux $lab_series on $lab_arch in kernel/lab/plan" >&2
	exit 1
}
machine=$lab_arch
# shellcheck source=scripts/vm.sh
. "$root/scripts/vm.sh"
lab_patches=$root/kernel/patches/$lab_series
lab_switches=$lab_dir/patches/$lab_series/switches.patch
lab_cache=$kernel_cache/lab/$lab_series
lab_out=$PWD/vm/lab/$lab_series-$lab_arch

# Each part is a file that is named like its command.
parts=(check selftests suite ktest kbench wall each stress results)
# shellcheck source=kernel/lab/arch/x86_64.sh
. "$lab_dir/arch/$lab_arch.sh"
# shellcheck source=kernel/lab/plan/6.12-x86_64/plan.sh
. "$lab_plan/plan.sh"
# shellcheck source=kernel/lab/tree.sh
. "$lab_dir/tree.sh"
# shellcheck source=kernel/lab/run.sh
. "$lab_dir/run.sh"
for part in "${parts[@]}"; do
	# shellcheck source=/dev/null
	[ ! -e "$lab_dir/$part.sh" ] || . "$lab_dir/$part.sh"
done

main() {
	local command=${1:-}
	[ $# -eq 0 ] || shift
	case " source build all ${parts[*]} " in
	*" $command "*) ;;
	*) die "COMMAND is one of: source build all ${parts[*]}" ;;
	esac
	declare -F "lab_$command" >/dev/null ||
		die "$command: kernel/lab/$command.sh is not there"
	mkdir -p "$lab_out"
	# It only reads, and neither builds nor boots.
	[ "$command" = check ] || prepare
	"lab_$command" "$@"
}

die() {
	say "lab: $*" >&2
	exit 1
}

# attempt COMMAND...: its status becomes $status.  Not for a condition, in which
# set -e would not count.
attempt() {
	set +e
	(
		set -e
		"$@"
	)
	status=$?
	set -e
}

# What the commands have in common that build or boot.
prepare() {
	local why
	why=$(vm_lacks)
	[ -z "$why" ] || die "cannot run here: $why"
	install_packages "${vm_packages[@]}" "${build_packages[@]}" "${arch_packages[@]}"
	command -v "$machine_qemu" >/dev/null ||
		die "no $machine_qemu: install ${machine_packages[*]}"
	lock_cache
	[ -z "$machine_sysroot" ] || cross_sysroot "$machine_sysroot"
	rm -f "$lab_out"/build/*.ready
}

install_packages() {
	"$root/scripts/deps.sh" "$@" ||
		die "cannot install these packages: $* - see apt's message above"
}

# Two runs at once would switch the source under each other.
lock_cache() {
	mkdir -p "$lab_cache" || die "cannot write to $lab_cache: set WTRACK_KERNEL_CACHE"
	lab_cache=$(cd "$lab_cache" && pwd)
	exec 9>"$lab_cache/lock"
	flock -n 9 && return
	say "waiting for another run that uses $lab_cache"
	flock -w 3600 9 || die "another run still uses $lab_cache: wait for it, or set WTRACK_KERNEL_CACHE"
}

# Everything that the plan has, and the sum.  The results in the tree are only
# written when asked for.
lab_all() {
	local part passed=0 failed=0 skipped=0
	: >"$lab_out/table"
	for part in "${plan_parts[@]}"; do
		run_part "$part"
	done
	say
	{
		say "part|passed|failed|skipped|seconds"
		cat "$lab_out/table"
	} | column -t -s '|'
	say
	say "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}

# run_part NAME: adds to the sum what the part's last line says.
run_part() {
	local log=$lab_out/$1.log start=$SECONDS rc p=0 f=0 s=0
	say "== $1"
	# Like attempt, and seen while it goes on.
	set +e
	(
		set -e
		"lab_$1"
	) 2>&1 | tee "$log"
	rc=${PIPESTATUS[0]}
	set -e
	read -r p f s < <(tail -n 1 "$log" |
		sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p') || :
	# What failed outside of a test counts as one, and so does silence.
	if { [ "$rc" -ne 0 ] || [ -z "${p:-}" ]; } && [ "${f:-0}" -eq 0 ]; then
		f=1
	fi
	passed=$((passed + ${p:-0})) failed=$((failed + f))
	skipped=$((skipped + ${s:-0}))
	say "$1|${p:-0}|$f|${s:-0}|$((SECONDS - start))" >>"$lab_out/table"
}

main "$@"
