# SPDX-License-Identifier: MIT
# stress, the lab's search for lost writes: static, and not with sanitizers,
# for the same reasons as ktest, whose calls of the kernel it shares.
STRESS_SOURCES = \
	%reldir%/areas.c \
	%reldir%/disturb.c \
	%reldir%/main.c \
	%reldir%/stress.h \
	%reldir%/work.c \
	kernel/lab/ktest/calls.c \
	kernel/lab/ktest/calls.h
if HAVE_SANITIZER
EXTRA_DIST += $(STRESS_SOURCES)
else
check_PROGRAMS += %reldir%/stress
%canon_reldir%_stress_SOURCES = $(STRESS_SOURCES)
%canon_reldir%_stress_LDADD =
%canon_reldir%_stress_LDFLAGS = $(AM_LDFLAGS) -all-static
endif

EXTRA_DIST += kernel/lab/stress.sh
