#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Passes every test, in one command on a fresh Debian 12: installs packages,
# builds with two compilers and two sanitizers, runs the suite in each build and
# on other kernels, counts the benchmark's instructions, looks the kernel patches
# over, tries the installed library as a stranger would, packs a distribution, lints.
#
# The last line is the sum over all builds' tests and all other steps:
# "N passed, N failed, N skipped".  Exits non-zero when one failed.
#
# WTRACK_REQUIRE_BACKENDS names the backends whose absence is a failure.  Unset,
# it becomes what this machine has: the backends that a stranger's program,
# tests/abi_consumer.c, opens through the installed library.  When the kernel
# has what the scan backend needs but that backend does not open, it is told
# and counted as skipped.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

packages=(binutils busybox-static clang clang-format codespell cppcheck cpio g++
	git groff-base libcmocka-dev libseccomp-dev libsigsegv-dev mandoc
	qemu-system-x86 shellcheck valgrind xz-utils)
out=$build/check
prefix=$out/prefix
passed=0 failed=0 skipped=0

main() {
	"$root/scripts/deps.sh" "${packages[@]}"
	fresh_directory
	reserve_hugepages
	before=$(tree_status)

	step bootstrap "$root/bootstrap"
	step build-gcc build gcc CC=gcc CXX=g++ --prefix="$prefix"
	step install make -C "$out/gcc" install
	step stranger stranger
	require_backends
	suite suite-gcc gcc
	sum kernels check-kernels
	sum exact bench-exact
	sum patches check-lab

	export WTRACK_STRESS_SECONDS=${WTRACK_STRESS_SECONDS:-2}
	step build-clang build clang --disable-static CC=clang CXX=clang++
	suite suite-clang clang
	step build-asan build asan --disable-static \
		--with-sanitizer=address,undefined
	suite suite-asan asan
	step build-tsan build tsan --disable-static --with-sanitizer=thread
	suite suite-tsan tsan
	suite distcheck gcc distcheck

	step syntax make -C "$out/gcc" check-syntax
	step man-lint make -C "$out/gcc" check-man
	step lists lint_lists
	step cppcheck lint_c
	step shellcheck lint_shell
	step codespell lint_spelling
	step clean-tree tree_is_clean
	say
	say "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}

fresh_directory() {
	# A distcheck that was interrupted leaves read-only directories.
	if [ -d "$out" ]; then
		chmod -R u+w "$out"
		rm -rf "$out"
	fi
	mkdir -p "$out"
	say "Building in $out; each step's log is there."
}

# The hugetlb tests need a few huge pages, which only root can reserve.
reserve_hugepages() {
	local file=/proc/sys/vm/nr_hugepages
	[ -w "$file" ] || return 0
	old_hugepages=$(cat "$file")
	[ "$old_hugepages" -lt 16 ] || return 0
	# Needed after the function has returned.
	# shellcheck disable=SC2064
	trap "echo $old_hugepages >$file" EXIT
	trap 'exit 129' HUP INT TERM
	# The kernel reserves what it can; tests skip if that is nothing.
	echo 16 >"$file" || :
}

# step NAME COMMAND...: runs it with its output in a log, shown if it fails.
step() {
	local name=$1
	shift
	if run "$name" "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
}

# suite NAME BUILD [TARGET]: make check, whose tests are counted one by one.
suite() {
	local name=$1 dir=$2 target=${3:-check} rc=0 bad
	# Nothing here takes minutes: what does, hangs.
	VERBOSE=1 run "$name" timeout -k 10 600 make -C "$out/$dir" -j"$jobs" "$target" || rc=$?
	passed=$((passed + $(total "$name" PASS) + $(total "$name" XFAIL)))
	skipped=$((skipped + $(total "$name" SKIP)))
	bad=$(($(total "$name" FAIL) + $(total "$name" XPASS) +
		$(total "$name" ERROR)))
	# What failed outside of a test counts as one.
	if [ $rc -ne 0 ] && [ $bad -eq 0 ]; then
		bad=1
	fi
	failed=$((failed + bad))
	grep -E '^SKIP: .+( - |[.]sh)' "$out/$name.log" | sort -u || :
}

# sum NAME TARGET: a target that counts by itself, and says so in its last line.
sum() {
	local name=$1 rc=0 p=0 f=0 s=0
	run "$name" timeout -k 10 1000 make -C "$out/gcc" "$2" || rc=$?
	read -r p f s < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' \
		"$out/$name.log" | tail -n 1) || :
	if [ $rc -ne 0 ] && [ "${f:-0}" -eq 0 ]; then
		f=1
	fi
	passed=$((passed + ${p:-0}))
	failed=$((failed + ${f:-0}))
	skipped=$((skipped + ${s:-0}))
	grep -E '(^|: )SKIP: |^kernel |^[0-9][^ ]*-amd64 ' "$out/$name.log" || :
}

# A figure of automake's summary, which is the last place that names it.
total() {
	local n
	n=$(sed -n "s/^# $2: *\([0-9]*\)\$/\1/p" "$out/$1.log" | tail -n 1)
	say "${n:-0}"
}

run() {
	local name=$1 log=$out/$1.log start=$SECONDS rc=0
	shift
	# Functions run here without set -e: each chains its commands with &&.
	("$@") >"$log" 2>&1 </dev/null || rc=$?
	if [ $rc -eq 0 ]; then
		say "ok $name ($((SECONDS - start)) s)"
	else
		say "FAILED $name ($((SECONDS - start)) s):"
		tail -n 120 "$log"
	fi
	return $rc
}

build() {
	local dir=$out/$1
	shift
	configure_in "$dir" --enable-werror "$@" && make -C "$dir" -j"$jobs"
}

# Programs that know the installed library only through pkg-config.
stranger() {
	local code=$root/tests/abi_consumer.c shared static seccomp
	export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
	shared=$(pkg-config --cflags --libs libwtrack) &&
		static=$(pkg-config --static --cflags --libs libwtrack) &&
		seccomp=$(pkg-config --cflags --libs libwtrack-seccomp) ||
		return
	# The flags' words are separate arguments.
	# shellcheck disable=SC2086
	gcc -std=gnu99 "$code" -o "$out/consumer" $shared \
		-Wl,-rpath,"$prefix/lib" &&
		g++ -std=gnu++11 -x c++ "$code" -o "$out/consumer-c++" $shared \
			-Wl,-rpath,"$prefix/lib" &&
		gcc -static "$code" -o "$out/consumer-static" $static &&
		gcc -shared -fPIC -Wl,-z,defs "$root/tests/abi_header_seccomp.c" \
			-o "$out/consumer-seccomp.so" $seccomp &&
		gcc "$root/examples/quickstart.c" -o "$out/quickstart" $shared \
			-Wl,-rpath,"$prefix/lib" || return
	"$out/consumer" && "$out/consumer-c++" && "$out/consumer-static" &&
		"$out/quickstart" "$out/gcc/config.log" &&
		"$prefix/bin/wtrack" selftest && describe_machine
}

# Into the log, and valid to end with anything that tells how well it tracks.
describe_machine() {
	local rc=0
	"$prefix/bin/wtrack" probe || rc=$?
	[ $rc -le 2 ]
}

require_backends() {
	local log=$out/stranger.log
	if [ -z "${WTRACK_REQUIRE_BACKENDS+set}" ]; then
		WTRACK_REQUIRE_BACKENDS=$(sed -n 's/^backend //p' "$log" |
			sort -u | tr '\n' ' ')
	fi
	export WTRACK_REQUIRE_BACKENDS
	say "Required backends: $WTRACK_REQUIRE_BACKENDS"
	if grep -q '^no backend scan' "$log"; then
		say "SKIP: no scan backend here; $(grep -m1 '^doors' "$log")"
		skipped=$((skipped + 1))
	fi
}

# A file that a list forgets is not built, not run or not distributed.
lint_lists() {
	local file name rc=0
	cd "$root" || return
	for file in lib/*.[ch] tools/*.[ch] bench/*.[ch] tests/*.[ch] \
		tests/*.sh man/*.[137] kernel/lab/*/*.[ch]; do
		name=$(basename "$file" .c)
		grep -qE "%reldir%/$name(\.c)?( |\$)" "${file%/*}/local.mk" || {
			say "$file is not in ${file%/*}/local.mk"
			rc=1
		}
	done
	# A directory without a makefile of its own is there with all that is in it.
	for file in kernel/lab/*; do
		[ -e "$file/local.mk" ] || [[ $file == *.mk ]] ||
			grep -qE "(%reldir%|kernel/lab)/${file#kernel/lab/}( |\$)" \
				kernel/lab/local.mk kernel/lab/*/local.mk || {
			say "$file is not in kernel/lab/local.mk"
			rc=1
		}
	done
	for file in scripts/*; do
		grep -qE "(^|[[:space:]])$file( |\$)" Makefile.am || {
			say "$file is not in Makefile.am"
			rc=1
		}
	done
	return $rc
}

# The library apart from its callers: they may pass what they have not set, for
# it to store to.
lint_c() {
	cd "$root" &&
		cppcheck_in lib &&
		cppcheck_in tools examples bench tests scripts/guest kernel/lab
}

cppcheck_in() {
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 \
		--enable=warning,performance,portability \
		-I include -I lib "$@"
}

lint_shell() {
	cd "$root" &&
		shellcheck -x bootstrap .ci/run scripts/*.sh scripts/{guest,machine}/*.sh tests/*.sh \
			kernel/lab/*.sh kernel/lab/{arch,guest}/*.sh tools/completions/wtrack
}

# roff writes a bullet \(bu, which is no misspelt word.
lint_spelling() {
	cd "$root" &&
		codespell --ignore-words-list=bu README.md LICENSE \
			configure.ac Makefile.am ./*/local.mk include lib tools \
			examples bench tests man kernel scripts .ci/run
}

tree_status() {
	git -C "$root" -c safe.directory='*' status --porcelain 2>/dev/null || :
}

# Whatever a build leaves in the source tree is something git ignores.
tree_is_clean() {
	diff <(printf '%s\n' "$before") <(printf '%s\n' "$(tree_status)")
}

main
