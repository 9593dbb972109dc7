/* SPDX-License-Identifier: MIT */
/*
 * backend_all.c: the room that tracks nothing and is never wrong.
 *
 * Every watched page is always dirty, and every run says so.
 */
#include "engine.h"

static int all_start(void)
{
	return 0;
}

static int all_revive(bool forked)
{
	(void)forked;
	return 0;
}

static void all_stop(void)
{
}

static int all_enroll(struct wtrack *t, const struct wt_span *s, bool dirty)
{
	(void)t;
	(void)s;
	(void)dirty;
	return 0;
}

static int all_nothing(struct wtrack *t, const struct wt_span *s)
{
	(void)t;
	(void)s;
	return 0;
}

static int all_arm(struct wtrack *t, const struct wt_span *s, unsigned flags)
{
	(void)t;
	(void)s;
	(void)flags;
	return 0;
}

static void all_adopt(struct wtrack *t, const struct wt_span *s)
{
	(void)t;
	(void)s;
}

static void all_collect(struct wtrack *t, const struct wt_span *s,
			uintptr_t *at, struct wt_sink *sink, unsigned flags)
{
	(void)t;
	(void)flags;
	if (wt_sink_add(sink, *at, s->end, WTRACK_RUN_UNTRACKED))
		*at = s->end;
}

static int all_inspect(struct wtrack *t, const struct wt_span *s,
		       uintptr_t addr)
{
	(void)t;
	(void)s;
	(void)addr;
	return 0;
}

const struct wt_backend wt_backend_all = {
	.name = "all",
	.caps = WTRACK_CAP_KERNEL_WRITES | WTRACK_CAP_DISCARD |
		WTRACK_CAP_NO_SIGNAL | WTRACK_CAP_FILES | WTRACK_CAP_PROTECT |
		WTRACK_CAP_CONCURRENT,
	.attr_mask = ~(WT_PROT_MASK | WT_FILE | WT_STABLE | WT_POLICY_MASK),
	.grains = true,
	.signal = 0,
	.first_pages = 0,
	.start = all_start,
	.stop = all_stop,
	.enroll = all_enroll,
	.withdraw = all_nothing,
	.collect = all_collect,
	.arm = all_arm,
	.mark = all_nothing,
	.inspect = all_inspect,
	.revive = all_revive,
	.adopt = all_adopt,
	.resolve = NULL,
};
