# SPDX-License-Identifier: MIT
# wtrack(1).
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
