# SPDX-License-Identifier: MIT
# Kernels with the patches of kernel/patches: LAB says which part of the lab,
# and its arguments.
LAB = all
LAB_BUILT = %reldir%/kbench/kbench %reldir%/ktest/ktest %reldir%/stress/stress
check-kernel: tests/abi_consumer $(CMOCKA_TESTS) $(OTHER_TESTS) $(LAB_BUILT)
	CC='$(CC)' LAB_CONSUMER=tests/abi_consumer \
		LAB_TESTS='$(CMOCKA_TESTS) $(OTHER_TESTS)' \
		$(top_srcdir)/%reldir%/lab.sh $(LAB)

# What needs no kernel to be built.
check-lab:
	$(top_srcdir)/%reldir%/lab.sh check
.PHONY: check-kernel check-lab

include %D%/kbench/local.mk
include %D%/ktest/local.mk
include %D%/stress/local.mk

EXTRA_DIST += kernel/README.md kernel/patches kernel/results %reldir%/patches \
	%reldir%/check.sh \
	%reldir%/config/common \
	%reldir%/config/debug \
	%reldir%/config/x86_64 \
	%reldir%/each.sh \
	%reldir%/guest/selftests.sh \
	%reldir%/lab.sh \
	%reldir%/run.sh \
	%reldir%/selftests.awk \
	%reldir%/selftests.sh \
	%reldir%/selftests_compare.awk \
	%reldir%/suite.sh \
	%reldir%/tree.sh
