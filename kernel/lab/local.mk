# SPDX-License-Identifier: MIT
# Kernels with the patches of kernel/patches: TREE says of which series, ARCH for
# which machine, LAB which part of the lab, and its arguments.
ARCH = x86_64
LAB = all
TREE = 6.12
LAB_BUILT = %reldir%/kbench/kbench %reldir%/ktest/ktest %reldir%/stress/stress
check-kernel: tests/abi_consumer $(CMOCKA_TESTS) $(OTHER_TESTS) $(LAB_BUILT)
	CC='$(CC)' WTRACK_LAB_ARCH='$(ARCH)' WTRACK_LAB_SERIES='$(TREE)' \
		LAB_CONSUMER=tests/abi_consumer \
		LAB_TESTS='$(CMOCKA_TESTS) $(OTHER_TESTS)' \
		$(top_srcdir)/%reldir%/lab.sh $(LAB)

# What needs no kernel to be built.
check-lab:
	$(top_srcdir)/%reldir%/lab.sh check
.PHONY: check-kernel check-lab

include %D%/kbench/local.mk
include %D%/ktest/local.mk
include %D%/stress/local.mk

EXTRA_DIST += kernel/README.md kernel/patches kernel/results \
	%reldir%/arch %reldir%/patches %reldir%/plan \
	%reldir%/check.sh \
	%reldir%/config \
	%reldir%/each.sh \
	%reldir%/guest/selftests.sh \
	%reldir%/lab.sh \
	%reldir%/run.sh \
	%reldir%/selftests.awk \
	%reldir%/selftests.sh \
	%reldir%/selftests_compare.awk \
	%reldir%/suite.sh \
	%reldir%/tree.sh
