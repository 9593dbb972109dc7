# SPDX-License-Identifier: MIT
# Programs a reader starts from; built with everything, never installed.
noinst_PROGRAMS += %reldir%/quickstart
# As outside this tree: no config.h.
%canon_reldir%_quickstart_CPPFLAGS = -I$(top_srcdir)/include
%canon_reldir%_quickstart_LDADD = lib/libwtrack.la
