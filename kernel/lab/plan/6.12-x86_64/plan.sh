# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the lab does with Linux 6.12 on x86_64.  The caller is lab.sh.
# shellcheck disable=SC2034

plan_parts=(check selftests suite ktest kbench wall each stress)
# What every kernel has besides, and how many first patches are tried together; all
# numbers if there are none. Those after the last are of arm64 only.
plan_patches=()
each_prefixes=(1 2 3 4 5 6 7 8 9 10)

# libwtrack's tests: KERNEL|BACKENDS, which must open there.
suite_kernels=('patched|scan async wp monitor softdirty mprotect all')

# The kernel's own tests: where they are, and those of each first part of the series.
selftests_place=mm
# Those that are not for this machine.
selftests_not=''
# Those of a newer kernel, and which.
selftests_newer=''
selftests_from=''
each_tests='pagemap_ioctl||/pagemap_ioctl
mseal_test||/mseal_test'

# BOOT|KERNEL|SWITCHES|CASES: without CASES all of them.  pairs.tsv says which
# boots make a pair.  Calls that change mappings cost what the kernel's slabs
# look like, so s4.* has a pair of its own, which plays nothing else.
kbench_boots="on|switched||
off-s0|switched|wtrack_fastpaths=-s0|mprotect.* uffd.rewrite uffd.release* s0.*
off-s1|switched|wtrack_fastpaths=-s1|s1.* thp.*
off-s3|switched|wtrack_fastpaths=-s3|s3.* scan.*
off-k3|switched|wtrack_fastpaths=-k3|s3.* scan.* s1.scan.* thp.* empty.*
off-k13|switched|wtrack_fastpaths=-k13|mprotect.* uffd.* s0.* s2.* empty.arm.*
off-k4|switched|wtrack_fastpaths=-k4|uffd.* thp.* empty.arm.*
off-k5|switched|wtrack_fastpaths=-k5|fault.*
off-k18|switched|wtrack_fastpaths=-k18|s3.* scan.*
off-k3-k18|switched|wtrack_fastpaths=-k3,-k18|s3.* scan.*
on-s4|switched||s4.*
off-s4|switched|wtrack_fastpaths=-s4|s4.*
k7|switched|sysctl.vm.uffd_wp_async_huge=1|k7.* k8.* fault.*
k8|switched|sysctl.vm.uffd_wp_async_around=16|k8.* fault.empty fault.populated fault.zero-page
stock|stock||
patched|patched||"

# What the two kinds of boots in real time differ in, and the cases that boot
# together.  Each is moved by one of the two switches only.  What has a target is
# played alone, so that nothing else is in its figures.
wall_off="wtrack_fastpaths=-k3,-s1"
wall_groups="scan.get.1/512.1g scan.getwp.1/512.1g scan.wp.1/512.1g
thp.getwp s1.mprotect.512 s1.uffd.512 empty.getwp.* scan.getwp.1/8.64m scan.getwp.1/64.64m"

# A name, a kernel, and its arguments; "fixed" tells guest/ktest.sh that the known
# bugs must not be seen.
ktest_boots=(
	"stock|stock|"
	"patched|patched|ktest=fixed"
	"huge|patched|ktest=fixed sysctl.vm.uffd_wp_async_huge=1"
	"around|patched|ktest=fixed sysctl.vm.uffd_wp_async_around=16"
	"both|patched|ktest=fixed sysctl.vm.uffd_wp_async_huge=1 sysctl.vm.uffd_wp_async_around=16"
)

# A name, and the kernel's arguments.
stress_boots=(
	"plain|"
	"switches|sysctl.vm.uffd_wp_async_huge=1 sysctl.vm.uffd_wp_async_around=16"
)
