# SPDX-License-Identifier: MIT
# wtrack(1), and the words that bash completes for it.
bin_PROGRAMS += %reldir%/wtrack
%canon_reldir%_wtrack_SOURCES = \
	%reldir%/advice.c \
	%reldir%/fastpaths.c \
	%reldir%/fastpaths.h \
	%reldir%/fastpaths_ask.c \
	%reldir%/fastpaths_async.c \
	%reldir%/fastpaths_protect.c \
	%reldir%/fastpaths_scan.c \
	%reldir%/fastpaths_stage.c \
	%reldir%/fastpaths_stage.h \
	%reldir%/items.c \
	%reldir%/main.c \
	%reldir%/probe.c \
	%reldir%/probe_json.c \
	%reldir%/selftest.c \
	%reldir%/stress.c \
	%reldir%/tool.h
# The kernel's interfaces, as the library defines them.
%canon_reldir%_wtrack_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
%canon_reldir%_wtrack_LDADD = lib/libwtrack.la

# Where bash-completion looks in any prefix that XDG_DATA_DIRS names.
bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = %reldir%/completions/wtrack

# Which kernels have which fast paths; KERNEL_TABLE_ARGS=--record writes it into
# README.md.
kernel-table: %reldir%/wtrack
	CC='$(CC)' $(top_srcdir)/scripts/kernel_table.sh $(KERNEL_TABLE_ARGS)
.PHONY: kernel-table
