# SPDX-License-Identifier: MIT
# The library.  Its objects form libwtrack-internal, which tests of the inside
# link to: nothing is hidden there.  libwtrack is the same objects behind the
# symbol map, the form that is installed.
noinst_LTLIBRARIES += %reldir%/libwtrack-internal.la
lib_LTLIBRARIES += %reldir%/libwtrack.la

%canon_reldir%_libwtrack_internal_la_SOURCES = \
	%reldir%/advise.c \
	%reldir%/announced.c \
	%reldir%/announced.h \
	%reldir%/backend.h \
	%reldir%/backend_all.c \
	%reldir%/backend_async.c \
	%reldir%/backend_monitor.c \
	%reldir%/backend_mprotect.c \
	%reldir%/backend_scan.c \
	%reldir%/backend_softdirty.c \
	%reldir%/backend_wp.c \
	%reldir%/clear.c \
	%reldir%/collect.c \
	%reldir%/costs.c \
	%reldir%/costs.h \
	%reldir%/dirtymap.c \
	%reldir%/dirtymap.h \
	%reldir%/engine.c \
	%reldir%/engine.h \
	%reldir%/fault.c \
	%reldir%/fault.h \
	%reldir%/fault_store.c \
	%reldir%/fork.c \
	%reldir%/fork.h \
	%reldir%/heat.c \
	%reldir%/heat.h \
	%reldir%/hot.c \
	%reldir%/hot.h \
	%reldir%/hot_arm.c \
	%reldir%/hot_piece.c \
	%reldir%/inject.c \
	%reldir%/inject.h \
	%reldir%/lazy.c \
	%reldir%/mem.c \
	%reldir%/mem.h \
	%reldir%/mprotect.h \
	%reldir%/mprotect_collect.c \
	%reldir%/mprotect_fault.c \
	%reldir%/options.c \
	%reldir%/options.h \
	%reldir%/page.c \
	%reldir%/page.h \
	%reldir%/pagemap.c \
	%reldir%/pagemap.h \
	%reldir%/policy.c \
	%reldir%/policy.h \
	%reldir%/probe.c \
	%reldir%/probe.h \
	%reldir%/probe_kernel.c \
	%reldir%/probe_stage.c \
	%reldir%/region.c \
	%reldir%/region.h \
	%reldir%/region_change.c \
	%reldir%/region_nodes.h \
	%reldir%/selftest.c \
	%reldir%/selftest.h \
	%reldir%/sink.c \
	%reldir%/sink.h \
	%reldir%/snapshot.c \
	%reldir%/softdirty.c \
	%reldir%/softdirty.h \
	%reldir%/softdirty_collect.c \
	%reldir%/sparse.c \
	%reldir%/sparse.h \
	%reldir%/split.c \
	%reldir%/stretch.c \
	%reldir%/stretch.h \
	%reldir%/sys.c \
	%reldir%/sys.h \
	%reldir%/tracker.c \
	%reldir%/uapi.h \
	%reldir%/uffd.c \
	%reldir%/uffd.h \
	%reldir%/vma.c \
	%reldir%/vma.h \
	%reldir%/watch.c \
	%reldir%/width.c \
	%reldir%/width.h \
	%reldir%/wp.c \
	%reldir%/wp.h
# The fault handler must not reach __tls_get_addr: it calls malloc on a thread's
# first use when the library came by dlopen.  So liburcu's readers are inlined
# (its header allows that to any licence), and reach their thread-local pointer
# by initial-exec, which makes the loader give every thread its own at once.
%canon_reldir%_libwtrack_internal_la_CPPFLAGS = $(AM_CPPFLAGS) $(URCU_CPPFLAGS)
%canon_reldir%_libwtrack_internal_la_CFLAGS = $(AM_CFLAGS) $(URCU_CFLAGS) \
	-fvisibility=hidden -ftls-model=initial-exec
%canon_reldir%_libwtrack_internal_la_LIBADD = $(URCU_LIBS)

%canon_reldir%_libwtrack_la_SOURCES =
%canon_reldir%_libwtrack_la_LIBADD = %reldir%/libwtrack-internal.la
# 0:0:0 until 1.0, then pinned: versions are told apart by map nodes.
# nodelete: a signal handler and fork handlers stay installed for good.
# now: the fault handler must not enter the lazy binder.
%canon_reldir%_libwtrack_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(srcdir)/%reldir%/libwtrack.map \
	-Wl,-z,nodelete -Wl,-z,now $(DEFS_LDFLAGS)
EXTRA_%canon_reldir%_libwtrack_la_DEPENDENCIES = %reldir%/libwtrack.map

pkgconfig_DATA = %reldir%/libwtrack.pc

# What libseccomp is needed for lives apart, so that the library needs none.
if HAVE_SECCOMP
noinst_LTLIBRARIES += %reldir%/libwtrack-seccomp-internal.la
lib_LTLIBRARIES += %reldir%/libwtrack-seccomp.la
pkgconfig_DATA += %reldir%/libwtrack-seccomp.pc
endif
%canon_reldir%_libwtrack_seccomp_internal_la_SOURCES = \
	%reldir%/seccomp.c \
	%reldir%/seccomp_rules.h \
	%reldir%/seccomp_rules.c
%canon_reldir%_libwtrack_seccomp_internal_la_CPPFLAGS = $(AM_CPPFLAGS) \
	$(SECCOMP_CFLAGS)
%canon_reldir%_libwtrack_seccomp_internal_la_CFLAGS = $(AM_CFLAGS) \
	-fvisibility=hidden
%canon_reldir%_libwtrack_seccomp_internal_la_LIBADD = $(SECCOMP_LIBS)

%canon_reldir%_libwtrack_seccomp_la_SOURCES =
%canon_reldir%_libwtrack_seccomp_la_LIBADD = \
	%reldir%/libwtrack-seccomp-internal.la
%canon_reldir%_libwtrack_seccomp_la_LDFLAGS = $(AM_LDFLAGS) \
	-version-info 0:0:0 $(DEFS_LDFLAGS) \
	-Wl,--version-script=$(srcdir)/%reldir%/libwtrack-seccomp.map
EXTRA_%canon_reldir%_libwtrack_seccomp_la_DEPENDENCIES = \
	%reldir%/libwtrack-seccomp.map

EXTRA_DIST += %reldir%/libwtrack.map %reldir%/libwtrack-seccomp.map
