# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the lab does with Linux 6.1 on x86_64.  The caller is lab.sh.
# shellcheck disable=SC2034

# What every kernel has besides, and how many first patches are tried together; all
# numbers if there are none.
plan_patches=()
each_prefixes=()
plan_parts=(check selftests suite ktest kbench each stress)

# 6.1 tells of mappings as text only, which takes the tests with thousands of them
# some minutes beside a build.
export WTRACK_TEST_SECONDS=${WTRACK_TEST_SECONDS:-480}

# libwtrack's tests: KERNEL|BACKENDS, which must open there.  The first kernel has
# asynchronous write protection without PAGEMAP_SCAN.
suite_kernels=('first-4|async wp monitor softdirty mprotect all'
	'patched|scan async wp monitor softdirty mprotect all')

# The kernel's own tests: where they are, and those of each first part of the series.
selftests_place=vm
# Those that are not for this machine.
selftests_not=''
each_tests='userfaultfd anon||/userfaultfd anon 20 4
userfaultfd shmem||/userfaultfd shmem 20 4
soft-dirty||/soft-dirty'
# Those of a newer kernel, and which: 6.1 has none of PAGEMAP_SCAN.
selftests_newer=pagemap_ioctl
selftests_from=6.12

# BOOT|KERNEL|SWITCHES|CASES: without CASES all of them.  pairs.tsv says which
# boots make a pair.  What s4.* measures is not in 6.1.
kbench_boots="on|switched||
off-k4|switched|wtrack_fastpaths=-k4|uffd.* thp.* empty.arm.*
off-k16|switched|wtrack_fastpaths=-k16|uffd.* s1.uffd.* thp.* fault.*
off-s3|switched|wtrack_fastpaths=-s3|s3.* scan.*
off-k5|switched|wtrack_fastpaths=-k5|fault.*
off-k18|switched|wtrack_fastpaths=-k18|s3.* scan.*
async|first-4||fault.* entries.*
stock|stock||
patched|patched||"

# Stock kernels have nothing to test: all of the tests need asynchronous write
# protection.
ktest_boots=("patched|patched|ktest=fixed")

# 6.1 with KASAN does not get through the entry by which the emulator starts a
# vmlinux: it ends before it has said a word.
debug_target=bzImage
debug_image=arch/x86/boot/bzImage
stress_boots=("plain|")
