# SPDX-License-Identifier: MIT
# kbench, the lab's benchmark of the kernel: static, as it runs where there are
# no libraries, and built with the tests so that it stays buildable.  Sanitizers
# cannot be linked into a static program, so not with them.
KBENCH_SOURCES = \
	%reldir%/beside.c \
	%reldir%/case_arm.c \
	%reldir%/case_entries.c \
	%reldir%/case_fault.c \
	%reldir%/case_huge.c \
	%reldir%/case_protect.c \
	%reldir%/case_scan.c \
	%reldir%/case_resolve.c \
	%reldir%/case_split.c \
	%reldir%/case_vmas.c \
	%reldir%/case_written.c \
	%reldir%/counters.c \
	%reldir%/kbench.h \
	%reldir%/main.c \
	%reldir%/measure.c \
	%reldir%/memory.c \
	%reldir%/track.c
if HAVE_SANITIZER
EXTRA_DIST += $(KBENCH_SOURCES)
else
check_PROGRAMS += %reldir%/kbench
%canon_reldir%_kbench_SOURCES = $(KBENCH_SOURCES)
%canon_reldir%_kbench_LDADD =
# -all-static is libtool's word for it.
%canon_reldir%_kbench_LDFLAGS = $(AM_LDFLAGS) -all-static
TESTS += %reldir%/kbench_test.sh
endif

EXTRA_DIST += %reldir%/kbench_test.sh \
	kernel/lab/figures.py \
	kernel/lab/kbench.sh \
	kernel/lab/results.py \
	kernel/lab/results.sh \
	kernel/lab/wall.sh
