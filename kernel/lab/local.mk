# SPDX-License-Identifier: MIT
# Kernels with the patches of kernel/patches: TREE says of which series, ARCH for
# which machine, LAB which part of the lab, and its arguments.
ARCH = x86_64
LAB = all
TREE = 6.12
check-kernel:
	CC='$(CC)' WTRACK_LAB_ARCH='$(ARCH)' WTRACK_LAB_SERIES='$(TREE)' \
		$(top_srcdir)/%reldir%/lab.sh $(LAB)

# What runs in the lab's machines, and the names of libwtrack's tests; the lab makes
# it, in a build directory of its own for another machine.
LAB_BUILT = %reldir%/kbench/kbench %reldir%/ktest/ktest %reldir%/stress/stress
%reldir%/tests: tests/abi_consumer $(CMOCKA_TESTS) $(OTHER_TESTS) $(LAB_BUILT)
	@printf '%s\n' $(CMOCKA_TESTS) $(OTHER_TESTS) >$@
CLEANFILES += %reldir%/tests

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
	%reldir%/guest \
	%reldir%/lab.sh \
	%reldir%/run.sh \
	%reldir%/selftests.awk \
	%reldir%/selftests.sh \
	%reldir%/selftests_compare.awk \
	%reldir%/suite.sh \
	%reldir%/tree.sh
