# SPDX-License-Identifier: MIT
# The test suite.  A cmocka program is one line in CMOCKA_TESTS: its source is
# NAME.c, and it links to the inside of the library.  abi_* tests see the
# library as a stranger does.
TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER_FLAGS = --comments
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
	CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	CC='$(CC)'; export CC; CXX='$(CXX)'; export CXX; \
	NM='$(NM)'; export NM; SANITIZER='$(SANITIZER)'; export SANITIZER; \
	TEST_CFLAGS='$(CFLAGS) $(SANITIZER_CFLAGS) $(COVERAGE_CFLAGS)'; \
	export TEST_CFLAGS; \
	SECCOMP_CFLAGS='$(SECCOMP_CFLAGS)'; export SECCOMP_CFLAGS; \
	TSAN_OPTIONS='suppressions=$(abs_top_srcdir)/%reldir%/tsan.supp'; \
	export TSAN_OPTIONS; \
	top_srcdir='$(abs_top_srcdir)'; export top_srcdir; \
	top_builddir='$(abs_top_builddir)'; export top_builddir;

AM_CPPFLAGS += -I$(top_srcdir)/lib $(CMOCKA_CFLAGS)

if HAVE_CMOCKA
CMOCKA_TESTS = \
	%reldir%/bug_fault_handler \
	%reldir%/bug_fault_stacks \
	%reldir%/bug_fork \
	%reldir%/bug_huge_pages \
	%reldir%/bug_io_uring \
	%reldir%/bug_lost_writes \
	%reldir%/bug_many_runs \
	%reldir%/bug_map_limit \
	%reldir%/bug_privilege \
	%reldir%/bug_scan_arguments \
	%reldir%/bug_sigbus \
	%reldir%/bug_signal_chain \
	%reldir%/bug_signal_death \
	%reldir%/bug_split_mappings \
	%reldir%/live_advise \
	%reldir%/live_calls \
	%reldir%/live_caps \
	%reldir%/live_clear \
	%reldir%/live_collect \
	%reldir%/live_cursor \
	%reldir%/live_fork \
	%reldir%/live_fork_threads \
	%reldir%/live_fresh \
	%reldir%/live_grain \
	%reldir%/live_host_signals \
	%reldir%/live_huge \
	%reldir%/live_kernel_leftovers \
	%reldir%/live_kernel_writes \
	%reldir%/live_lost \
	%reldir%/live_policy \
	%reldir%/live_protect \
	%reldir%/live_query \
	%reldir%/live_race \
	%reldir%/live_ranges \
	%reldir%/live_sandbox_files \
	%reldir%/live_sandbox_limits \
	%reldir%/live_sandbox_mounts \
	%reldir%/live_snapshot \
	%reldir%/live_softdirty \
	%reldir%/live_softdirty_threads \
	%reldir%/live_split \
	%reldir%/live_stable \
	%reldir%/live_suspend \
	%reldir%/live_tags \
	%reldir%/live_threads \
	%reldir%/model_handles \
	%reldir%/model_hot \
	%reldir%/model_nolost \
	%reldir%/model_nolost_hot \
	%reldir%/model_random \
	%reldir%/unit_dirtymap \
	%reldir%/unit_doors \
	%reldir%/unit_errors \
	%reldir%/unit_errors_collect \
	%reldir%/unit_errors_ranges \
	%reldir%/unit_failing_arm \
	%reldir%/unit_failing_mprotect \
	%reldir%/unit_failing_scan \
	%reldir%/unit_fastpaths \
	%reldir%/unit_fault_store \
	%reldir%/unit_inject \
	%reldir%/unit_inject_entries \
	%reldir%/unit_no_memory \
	%reldir%/unit_options \
	%reldir%/unit_policy \
	%reldir%/unit_policy_pages \
	%reldir%/unit_policy_plan \
	%reldir%/unit_probe \
	%reldir%/unit_probe_refused \
	%reldir%/unit_region \
	%reldir%/unit_region_readers \
	%reldir%/unit_sink \
	%reldir%/unit_vma \
	%reldir%/unit_width
if HAVE_SECCOMP
CMOCKA_TESTS += %reldir%/live_sandbox %reldir%/live_seccomp
endif
check_LTLIBRARIES += %reldir%/libsupport.la
%canon_reldir%_libsupport_la_SOURCES = \
	%reldir%/kernel_calls.c \
	%reldir%/kernel_calls.h \
	%reldir%/support.c \
	%reldir%/support.h \
	%reldir%/support_costs.c \
	%reldir%/support_costs.h \
	%reldir%/support_dirty.c \
	%reldir%/support_faults.c \
	%reldir%/support_faults.h \
	%reldir%/support_live.c \
	%reldir%/support_live.h \
	%reldir%/support_memory.c \
	%reldir%/support_process.c \
	%reldir%/support_sandbox.c \
	%reldir%/support_sandbox.h
endif

OTHER_TESTS = %reldir%/unit_nomalloc %reldir%/unit_nomalloc_dlopen
check_PROGRAMS += $(CMOCKA_TESTS) $(OTHER_TESTS)
LDADD = %reldir%/libsupport.la lib/libwtrack-internal.la $(CMOCKA_LIBS)
%canon_reldir%_unit_nomalloc_SOURCES = %reldir%/unit_nomalloc.c \
	%reldir%/nomalloc.c %reldir%/nomalloc.h
%canon_reldir%_unit_nomalloc_LDADD = lib/libwtrack.la
%canon_reldir%_model_nolost_SOURCES = %reldir%/model_nolost.c \
	%reldir%/nolost.c %reldir%/nolost.h
%canon_reldir%_model_nolost_hot_SOURCES = %reldir%/model_nolost_hot.c \
	%reldir%/nolost.c %reldir%/nolost.h
%canon_reldir%_model_random_SOURCES = %reldir%/model_random.c \
	%reldir%/shadow.c %reldir%/shadow.h %reldir%/shadow_calls.c \
	%reldir%/shadow_memory.c
%canon_reldir%_live_sandbox_CPPFLAGS = $(AM_CPPFLAGS) $(SECCOMP_CFLAGS)
%canon_reldir%_live_sandbox_LDADD = $(LDADD) $(SECCOMP_LIBS)
# With libseccomp, and the table that becomes a filter's rules.
%canon_reldir%_live_seccomp_SOURCES = %reldir%/live_seccomp.c \
	%reldir%/seccomp_play.c %reldir%/seccomp_scene.c \
	%reldir%/seccomp_scene.h
%canon_reldir%_live_seccomp_CPPFLAGS = $(AM_CPPFLAGS) $(SECCOMP_CFLAGS)
%canon_reldir%_live_seccomp_LDADD = $(LDADD) \
	lib/libwtrack-seccomp-internal.la $(SECCOMP_LIBS)
# What asks the kernel, without the program around it.
%canon_reldir%_unit_fastpaths_SOURCES = %reldir%/unit_fastpaths.c \
	tools/fastpaths.h tools/fastpaths_ask.c tools/fastpaths_stage.c \
	tools/fastpaths_stage.h tools/items.c tools/tool.h
%canon_reldir%_unit_fastpaths_CPPFLAGS = $(AM_CPPFLAGS) \
	-I$(top_srcdir)/tools
# Not even linked to liburcu: dlopen brings it.
%canon_reldir%_unit_nomalloc_dlopen_SOURCES = \
	%reldir%/unit_nomalloc_dlopen.c %reldir%/nomalloc.c %reldir%/nomalloc.h
%canon_reldir%_unit_nomalloc_dlopen_LDADD = -ldl

TESTS += $(CMOCKA_TESTS) $(OTHER_TESTS) $(SHELL_TESTS)
# No tests, but what tests run others by, or compare them with.
check_PROGRAMS += %reldir%/facts %reldir%/refuse
%canon_reldir%_facts_LDADD =
%canon_reldir%_refuse_LDADD =
SHELL_TESTS = \
	%reldir%/abi_header.sh \
	%reldir%/abi_manpages.sh \
	%reldir%/abi_symbols.sh \
	%reldir%/abi_tags.sh \
	%reldir%/bug_valgrind.sh \
	%reldir%/man_examples.sh \
	%reldir%/tool_completion.sh \
	%reldir%/tool_fastpaths.sh \
	%reldir%/tool_probe.sh \
	%reldir%/tool_selftest.sh \
	%reldir%/tool_usage.sh

# All programs on other kernels, in virtual machines.  The shell tests are about
# the library as a file, which no kernel changes.
EXTRA_PROGRAMS = %reldir%/abi_consumer
CLEANFILES += %reldir%/abi_consumer
%canon_reldir%_abi_consumer_LDADD = lib/libwtrack.la
check-kernels: %reldir%/abi_consumer $(CMOCKA_TESTS) $(OTHER_TESTS)
	CC='$(CC)' $(top_srcdir)/scripts/kernels.sh %reldir%/abi_consumer $(CMOCKA_TESTS) $(OTHER_TESTS)
.PHONY: check-kernels

EXTRA_DIST += $(SHELL_TESTS) %reldir%/tool_lib.sh %reldir%/lossy.c %reldir%/tsan.supp %reldir%/abi_header.c \
	%reldir%/abi_header_seccomp.c
