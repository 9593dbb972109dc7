# SPDX-License-Identifier: MIT
# wtrack-bench, built with everything so that it stays buildable; make bench
# runs it, with BENCH_ARGS.
noinst_PROGRAMS += %reldir%/wtrack-bench
%canon_reldir%_wtrack_bench_SOURCES = \
	%reldir%/bench.h \
	%reldir%/case_backends.c \
	%reldir%/case_collect.c \
	%reldir%/case_few.c \
	%reldir%/case_first_write.c \
	%reldir%/case_hot.c \
	%reldir%/case_memory.c \
	%reldir%/case_parallel.c \
	%reldir%/case_watch.c \
	%reldir%/contender.c \
	%reldir%/density.c \
	%reldir%/dirtylog.c \
	%reldir%/epochs.c \
	%reldir%/epochs.h \
	%reldir%/main.c \
	%reldir%/peer_libsigsegv.c \
	%reldir%/peer_monitor.c \
	%reldir%/peer_mprotect.c \
	%reldir%/peer_raw.c \
	%reldir%/peer_sigbus.c \
	%reldir%/peer_wtrack.c \
	%reldir%/processor.c \
	%reldir%/report.c \
	%reldir%/span.c \
	%reldir%/uffd.c \
	%reldir%/workload.c
%canon_reldir%_wtrack_bench_LDADD = lib/libwtrack.la $(SIGSEGV_LIBS)

EXTRA_DIST += %reldir%/EXACT.md %reldir%/RESULTS.md

bench: %reldir%/wtrack-bench
	%reldir%/wtrack-bench $(BENCH_ARGS)

# Counts instructions; BENCH_EXACT_ARGS=--record writes EXACT.md anew.
bench-exact: %reldir%/wtrack-bench
	CC='$(CC)' $(top_srcdir)/scripts/bench_exact.sh $(BENCH_EXACT_ARGS)
.PHONY: bench bench-exact
