# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the lab does with Linux 6.12 on arm64.  The caller is lab.sh.
# shellcheck disable=SC2034,SC2154

plan_parts=(check selftests suite ktest kbench wall each stress)
# What every kernel has besides: flushes are counted.  And how many first patches are
# tried together: K11, and K12, whose first half is nothing by itself; those before are
# tried on x86_64.
plan_patches=("$lab_dir/patches/6.12/count.patch")
each_prefixes=(11 13)

# libwtrack's tests: KERNEL|BACKENDS, which must open there, and how much memory there
# is.  This machine has no soft-dirty bits; with pages of 64 KiB huge ones have 512 MiB.
suite_kernels=('patched|scan async wp monitor mprotect all'
	'patched-64k|scan async wp monitor mprotect all|6G')

# The kernel's own tests: where they are, and those of each first part of the series.
selftests_place=mm
# Those that are not for this machine.
selftests_not=soft-dirty
# Those of a newer kernel, and which.
selftests_newer=''
selftests_from=''
each_tests='pagemap_ioctl||/pagemap_ioctl
mseal_test||/mseal_test'

# BOOT|KERNEL|SWITCHES|CASES: without CASES all of them.  pairs.tsv says which
# boots make a pair.  What all machines have the same is off on x86_64 only: s0, s3,
# s4 and k7.
kbench_boots="on|switched||
off-k3|switched|wtrack_fastpaths=-k3|s3.* scan.* s1.scan.* thp.* empty.*
off-k4|switched|wtrack_fastpaths=-k4|uffd.* thp.* empty.arm.*
off-k5|switched|wtrack_fastpaths=-k5|fault.*
off-k11|switched|wtrack_fastpaths=-k11|s1.* thp.*
off-k12|switched|wtrack_fastpaths=-k12|s1.* thp.* mprotect.* uffd.*
off-k13|switched|wtrack_fastpaths=-k13|mprotect.* uffd.* s2.* empty.arm.*
off-k14|switched|wtrack_fastpaths=-k14|split.*
off-k18|switched|wtrack_fastpaths=-k18|s3.* scan.*
stock|stock||
patched|patched||"

# What the two kinds of boots in real time differ in, and the cases that boot
# together.
wall_off="wtrack_fastpaths=-k11,-k12"
wall_groups="s1.mprotect.64 s1.mprotect.128 s1.mprotect.256 s1.mprotect.320 s1.mprotect.448 s1.mprotect.512 s1.uffd.512 s1.scan.512"

# A name, a kernel, and its arguments; "fixed" tells guest/ktest.sh that the known
# bugs must not be seen.
ktest_boots=(
	"stock|stock|"
	"patched|patched|ktest=fixed"
	"both|patched|ktest=fixed sysctl.vm.uffd_wp_async_huge=1 sysctl.vm.uffd_wp_async_around=16"
)

# A name, and the kernel's arguments.
stress_boots=(
	"plain|"
	"switches|sysctl.vm.uffd_wp_async_huge=1 sysctl.vm.uffd_wp_async_around=16"
)
