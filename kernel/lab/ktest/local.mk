# SPDX-License-Identifier: MIT
# ktest, the lab's tests of what a kernel does: static, as it runs where there
# are no libraries, and built with the tests so that it stays buildable.
# Sanitizers cannot be linked into a static program, so not with them.
KTEST_SOURCES = \
	%reldir%/around.h \
	%reldir%/bits.c \
	%reldir%/bits.h \
	%reldir%/calls.c \
	%reldir%/calls.h \
	%reldir%/case_again.c \
	%reldir%/case_around.c \
	%reldir%/case_around_shared.c \
	%reldir%/case_bits.c \
	%reldir%/case_bits_file.c \
	%reldir%/case_density.c \
	%reldir%/case_empty.c \
	%reldir%/case_folded.c \
	%reldir%/case_gather.c \
	%reldir%/case_granted.c \
	%reldir%/case_huge.c \
	%reldir%/case_hugetlb.c \
	%reldir%/case_protect.c \
	%reldir%/case_race.c \
	%reldir%/case_random.c \
	%reldir%/case_resolve.c \
	%reldir%/case_sync.c \
	%reldir%/ktest.h \
	%reldir%/main.c \
	%reldir%/memory.c \
	%reldir%/model.c \
	%reldir%/model.h \
	%reldir%/race.c \
	%reldir%/race.h \
	%reldir%/scene.c \
	%reldir%/scene.h \
	%reldir%/sets.c
if HAVE_SANITIZER
EXTRA_DIST += $(KTEST_SOURCES)
else
check_PROGRAMS += %reldir%/ktest
%canon_reldir%_ktest_SOURCES = $(KTEST_SOURCES)
%canon_reldir%_ktest_LDADD =
# -all-static is libtool's word for it.
%canon_reldir%_ktest_LDFLAGS = $(AM_LDFLAGS) -all-static
endif

EXTRA_DIST += kernel/lab/ktest.sh
