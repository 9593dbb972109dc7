# SPDX-License-Identifier: MIT
# wtrack(1), wtrack(7) and one page per function; a family's further names are .so stubs.
dist_man_MANS += \
	%reldir%/wtrack.1 \
	%reldir%/wtrack.7 \
	%reldir%/wtrack_advise.3 \
	%reldir%/wtrack_clear.3 \
	%reldir%/wtrack_close.3 \
	%reldir%/wtrack_collect.3 \
	%reldir%/wtrack_handle_fault.3 \
	%reldir%/wtrack_info.3 \
	%reldir%/wtrack_mark.3 \
	%reldir%/wtrack_open.3 \
	%reldir%/wtrack_prepare_write.3 \
	%reldir%/wtrack_probe.3 \
	%reldir%/wtrack_query.3 \
	%reldir%/wtrack_set_policy.3 \
	%reldir%/wtrack_snapshot.3 \
	%reldir%/wtrack_snapshot_contains.3 \
	%reldir%/wtrack_snapshot_epoch.3 \
	%reldir%/wtrack_snapshot_free.3 \
	%reldir%/wtrack_snapshot_next.3 \
	%reldir%/wtrack_snapshot_pages.3 \
	%reldir%/wtrack_snapshot_rewind.3 \
	%reldir%/wtrack_split.3 \
	%reldir%/wtrack_stats.3 \
	%reldir%/wtrack_unwatch.3 \
	%reldir%/wtrack_watch.3
# Where its library is; distributed in any case.
if HAVE_SECCOMP
man_MANS = %reldir%/wtrack_seccomp_allow.3
endif
EXTRA_DIST += %reldir%/wtrack_seccomp_allow.3

# What a reader's formatter would complain of.  Stubs hold one request only.
check-man:
	@cd '$(srcdir)' && for page in $(dist_man_MANS) \
			%reldir%/wtrack_seccomp_allow.3; do \
		grep -q '^\.so ' $$page && continue; \
		mandoc -Tlint -Wwarning $$page && \
		out=`groff -man -ww -Tutf8 -z $$page 2>&1` && \
		test -z "$$out" || { echo "$$page: $$out"; exit 1; }; \
	done
.PHONY: check-man
