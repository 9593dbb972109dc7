# SPDX-License-Identifier: MIT
# wtrack(1), and the words that bash completes for it.
bin_PROGRAMS += %reldir%/wtrack
%canon_reldir%_wtrack_SOURCES = \
	%reldir%/advice.c \
	%reldir%/items.c \
	%reldir%/main.c \
	%reldir%/probe.c \
	%reldir%/probe_json.c \
	%reldir%/selftest.c \
	%reldir%/stress.c \
	%reldir%/tool.h
%canon_reldir%_wtrack_LDADD = lib/libwtrack.la

# Where bash-completion looks in any prefix that XDG_DATA_DIRS names.
bashcompdir = $(datadir)/bash-completion/completions
dist_bashcomp_DATA = %reldir%/completions/wtrack
