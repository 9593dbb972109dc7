/* SPDX-License-Identifier: MIT */
/*
 * backend_async.c: asynchronous write-protect without PAGEMAP_SCAN.
 *
 * The kernel resolves write faults by itself, as in backend_scan.c.  What was
 * written is read from pagemap, and then exactly what was reported is armed
 * [K-get-then-arm]: the functions are those of synchronous write-protect, but
 * that there is no fault to see, and so no bitmap.
 */
#include "uapi.h"
#include "width.h"
#include "wp.h"

static struct wt_wp wp = {
	.uffd = WT_UFFD_NONE,
	.pagemap = WT_FD_NONE,
	.features = WT_FEATURE_WP_ASYNC,
	.doors = WT_DOORS_NOT_TRIED,
};

static struct wt_width width;

static int async_start(void)
{
	width = wt_width_read();
	return wt_wp_open(&wp);
}

static void async_stop(void)
{
	wt_wp_close(&wp);
}

static int async_revive(bool forked)
{
	(void)forked;
	async_stop();
	return async_start();
}

static void async_collect(struct wtrack *t, const struct wt_span *s,
			  uintptr_t *at, struct wt_sink *sink, unsigned flags)
{
	size_t first = sink->n;

	do {
		size_t before = sink->n;

		wt_wp_collect(t, s, at, sink, flags);
		wt_width_flag_around(&width, sink->runs + before,
				     sink->n - before);
		wt_width_flag_huge(&width, s, sink, first);
	} while (*at < s->end && sink->n < sink->cap);
}

const struct wt_backend wt_backend_async = {
	.name = "async",
	.caps = WTRACK_CAP_PRECISE | WTRACK_CAP_KERNEL_WRITES |
		WTRACK_CAP_DISCARD | WTRACK_CAP_LOSS | WTRACK_CAP_NO_SIGNAL |
		WTRACK_CAP_FILES | WTRACK_CAP_PROTECT | WTRACK_CAP_CONCURRENT,
	.attr_mask = ~(uint64_t)(WT_PROT_MASK | WT_STABLE),
	.grains = false,
	.signal = 0,
	.first_pages = 0,
	.room = &wp,
	.start = async_start,
	.stop = async_stop,
	.enroll = wt_wp_enroll,
	.withdraw = wt_wp_withdraw,
	.collect = async_collect,
	.populated = wt_wp_populated,
	.arm = wt_wp_arm,
	.mark = wt_wp_mark,
	.inspect = wt_wp_inspect,
	.revive = async_revive,
	.adopt = wt_wp_adopt,
	.resolve = NULL,
};
