/* SPDX-License-Identifier: MIT */
/*
 * backend_scan.c: asynchronous write-protect and PAGEMAP_SCAN.
 *
 * The kernel resolves write faults by itself and keeps one bit a page; a
 * collection is one system call per stretch that stores straight into the
 * caller's array.  Two traps shape this room.  A scan that clears and then
 * meets a mapping that is not registered fails after having consumed bits
 * [K-scan-destructive], so any error means "all of it is dirty".  And gaps
 * between mappings are passed over in silence [K-scan-gap], so they are looked
 * for first.
 */
#include "engine.h"
#include "pagemap.h"
#include "uapi.h"
#include "uffd.h"
#include "vma.h"
#include "width.h"

#include <errno.h>

/* Registered stretches taken at once when some are lost: 768 bytes of stack. */
#define PARTS 32

static struct wt_doors doors = WT_DOORS_NOT_TRIED;
static struct wt_uffd uffd = WT_UFFD_NONE;
static struct wt_fd pagemap = WT_FD_NONE;
static struct wt_width width;

const struct wt_doors *wt_scan_doors(void)
{
	return &doors;
}

static void scan_stop(void)
{
	wt_uffd_close(&uffd);
	wt_fd_close(&pagemap);
}

static int scan_start(void)
{
	static const uint64_t sets[] = {
		WT_FEATURE_WP_ASYNC | WT_FEATURE_WP_UNPOP |
			WT_FEATURE_PAGEFAULT_WP | WT_FEATURE_WP_HUGE_SHM,
		0,
	};
	int rc = wt_uffd_open(&uffd, sets, &doors);

	doors.pagemap = wt_pagemap_open(&pagemap);
	if (!rc)
		rc = doors.pagemap;
	if (rc)
		scan_stop();
	else
		width = wt_width_read();
	return rc;
}

static int scan_revive(bool forked)
{
	(void)forked;
	scan_stop();
	return scan_start();
}

static int scan_arm(struct wtrack *t, const struct wt_span *s, unsigned flags)
{
	(void)flags;
	wt_count(&t->count.kernel_calls, 1);
	return wt_uffd_protect(&uffd, s->start, s->end, true);
}

static int scan_enroll(struct wtrack *t, const struct wt_span *s, bool dirty)
{
	int rc = wt_uffd_register(&uffd, s->start, s->end);

	if (rc || dirty)
		return rc;
	rc = scan_arm(t, s, 0);
	if (rc)
		wt_uffd_unregister(&uffd, s->start, s->end);
	return rc;
}

static void scan_adopt(struct wtrack *t, const struct wt_span *s)
{
	(void)t;
	wt_uffd_register(&uffd, s->start, s->end);
}

/* What is lost or gone needs no unregistering, so errors do not matter. */
static int scan_withdraw(struct wtrack *t, const struct wt_span *s)
{
	(void)t;
	wt_uffd_unregister(&uffd, s->start, s->end);
	return 0;
}

static int scan_mark(struct wtrack *t, const struct wt_span *s)
{
	(void)t;
	/*
	 * [K-huge-hole] A hole in hugetlb memory never reads as written: it
	 * must be there before it can be dirty.
	 */
	if (s->attr & WT_HUGETLB) {
		int rc = wt_sys_madvise(s->start, s->end - s->start,
					WT_MADV_POPULATE_READ);
		if (rc)
			return rc;
	}
	return wt_uffd_protect(&uffd, s->start, s->end, false);
}

static long scan_populated(struct wtrack *t, uintptr_t *at, uintptr_t end,
			   struct wt_page_region *part, size_t n)
{
	(void)t;
	return wt_pagemap_populated(&pagemap, at, end, part, n);
}

static int scan_inspect(struct wtrack *t, const struct wt_span *s,
			uintptr_t addr)
{
	struct wt_span block = wt_block_at(s, addr);
	uintptr_t at = block.start, end = block.end;
	struct wt_page_region region;
	long rc = wt_vma_mapped(at, end);

	(void)t;
	if (!rc)
		rc = wt_pagemap_scan(&pagemap, &at, end, &region, 1, false);
	return rc < 0 ? (int)rc : 0;
}

/* ---- collection ---- */

/* Adds a stretch that is not tracked any more; false when the sink is full. */
static bool add_lost(struct wtrack *t, uintptr_t start, uintptr_t end,
		     struct wt_sink *sink, uint64_t generation)
{
	if (start == end)
		return true;
	return wt_sink_add(sink, start, end,
			   wt_lost_flags(t, start, end, generation));
}

/*
 * A scan failed; if it was to clear, its bits may be gone.  All of it becomes
 * one run, for which there is room, or the scan would not have been made.
 * After a clearing scan it is armed again where it can be: safe, because all
 * of it is reported. [G1][G3]
 */
static void scan_failed(struct wtrack *t, const struct wt_span *s,
			uintptr_t *at, struct wt_sink *sink, bool clear,
			uint64_t generation)
{
	struct wt_page_region part[PARTS];
	uintptr_t pos = *at;
	/* An unwatch waits for who clears, not for who looks. */
	uint64_t lost = clear ? WTRACK_RUN_LOST
			      : wt_lost_flags(t, pos, s->end, generation);

	wt_sink_add(sink, pos, s->end, lost | WTRACK_RUN_DEGRADED);
	wt_count(&t->count.degraded, 1);
	*at = s->end;
	while (clear && pos < s->end) {
		long n = wt_pagemap_registered(&pagemap, &pos, s->end, part,
					       PARTS);

		if (n <= 0)
			return;
		for (long i = 0; i < n; i++)
			wt_uffd_protect(&uffd, part[i].start, part[i].end,
					true);
	}
}

/*
 * Huge pages: looked at first, then exactly what was reported is armed.
 * [K-get-then-arm] loses nothing either, and a clearing scan over a hole in
 * shared hugetlb memory deadlocks kernels before 6.12.97 [K-huge-deadlock].
 */
static void finish_huge(struct wtrack_run *runs, long n, bool clear)
{
	for (long i = 0; i < n; i++) {
		runs[i].flags |= WTRACK_RUN_COARSE;
		if (clear &&
		    wt_uffd_protect(&uffd, runs[i].start, runs[i].end, true))
			runs[i].flags |= WTRACK_RUN_DEGRADED;
	}
}

/* Until the end, or the sink is full.  Returns 0 or a negative errno. */
static int scan_on(struct wtrack *t, const struct wt_span *s, uintptr_t *at,
		   struct wt_sink *sink, bool clear)
{
	bool huge = s->attr & WT_HUGETLB;
	size_t room;

	while (*at < s->end) {
		struct wtrack_run *tail = wt_sink_tail(sink, &room);
		uintptr_t from = *at;
		long n;

		if (!room)
			break;
		n = wt_pagemap_scan(&pagemap, at, s->end,
				    (struct wt_page_region *)tail, room,
				    clear && !huge);
		wt_count(&t->count.kernel_calls, 1);
		if (n < 0)
			return (int)n;
		/* Never seen: neither result nor progress.  Not to hang. */
		if (!n && *at == from)
			return -EIO;
		wt_width_flag_around(&width, tail, (size_t)n);
		if (huge)
			finish_huge(tail, n, clear);
		/*
		 * [K-region-chunk] The kernel merges adjacent pages within its
		 * buffer, of as many regions as a page table has entries.
		 */
		wt_sink_commit(sink, (size_t)n, wt_page_entries());
	}
	return 0;
}

/*
 * [*at, s->end) is registered as far as is known.  Returns 0, or a negative
 * errno with nothing more taken into the sink.
 */
static int scan_part(struct wtrack *t, const struct wt_span *s, uintptr_t *at,
		     struct wt_sink *sink, bool clear)
{
	size_t first = sink->n;

	do {
		int rc = scan_on(t, s, at, sink, clear);

		if (rc)
			return rc;
		wt_width_flag_huge(&width, s, sink, first);
	} while (*at < s->end && sink->n < sink->cap);
	return 0;
}

/* The parts of [*at, end) that are still registered, and what lies between. */
static bool collect_parts(struct wtrack *t, const struct wt_span *s,
			  uintptr_t *at, uintptr_t end,
			  const struct wt_page_region *part, long n,
			  struct wt_sink *sink, bool clear, uint64_t generation)
{
	for (long i = 0; i <= n; i++) {
		struct wt_span sub = { i < n ? part[i].start : end,
				       i < n ? part[i].end : end, s->attr,
				       true };

		if (*at < sub.start) {
			if (!add_lost(t, *at, sub.start, sink, generation))
				return false;
			*at = sub.start;
		}
		if (*at < sub.end && sink->n == sink->cap)
			return false;
		if (scan_part(t, &sub, at, sink, clear))
			scan_failed(t, &sub, at, sink, clear, generation);
		if (*at < sub.end)
			return false;
	}
	return true;
}

/* Some registration is lost: ask which, then look at the others one by one. */
static void collect_lossy(struct wtrack *t, const struct wt_span *s,
			  uintptr_t *at, struct wt_sink *sink, bool clear)
{
	struct wt_page_region part[PARTS];

	while (*at < s->end) {
		uint64_t generation = wt_generation();
		uintptr_t pos = *at;
		long n = wt_pagemap_registered(&pagemap, &pos, s->end, part,
					       PARTS);

		wt_count(&t->count.kernel_calls, 1);
		if (n < 0 || (n < PARTS && pos < s->end)) {
			/* The descriptor itself is gone, for all we know. */
			if (add_lost(t, *at, s->end, sink, generation))
				*at = s->end;
			return;
		}
		if (n == PARTS)
			pos = part[PARTS - 1].end;
		if (!collect_parts(t, s, at, pos, part, n, sink, clear,
				   generation))
			return;
	}
}

static void scan_collect(struct wtrack *t, const struct wt_span *s,
			 uintptr_t *at, struct wt_sink *sink, unsigned flags)
{
	bool clear = flags & WTRACK_CLEAR;

	if (!s->mapped || __atomic_load_n(&t->lossy, __ATOMIC_RELAXED)) {
		collect_lossy(t, s, at, sink, clear);
		return;
	}
	if (!scan_part(t, s, at, sink, clear))
		return;
	/* From now on, until an unwatch, this handle asks before it scans. */
	__atomic_store_n(&t->lossy, 1, __ATOMIC_RELAXED);
	if (clear && !(s->attr & WT_HUGETLB))
		scan_failed(t, s, at, sink, clear, 0);
	else
		collect_lossy(t, s, at, sink, clear);
}

const struct wt_backend wt_backend_scan = {
	.name = "scan",
	.caps = WTRACK_CAP_PRECISE | WTRACK_CAP_KERNEL_WRITES |
		WTRACK_CAP_DISCARD | WTRACK_CAP_LOSS | WTRACK_CAP_NO_SIGNAL |
		WTRACK_CAP_FILES | WTRACK_CAP_PROTECT | WTRACK_CAP_CONCURRENT,
	.attr_mask = ~(uint64_t)(WT_PROT_MASK | WT_STABLE),
	.grains = false,
	.signal = 0,
	.first_pages = 0,
	.start = scan_start,
	.stop = scan_stop,
	.enroll = scan_enroll,
	.withdraw = scan_withdraw,
	.collect = scan_collect,
	.populated = scan_populated,
	.arm = scan_arm,
	.mark = scan_mark,
	.inspect = scan_inspect,
	.revive = scan_revive,
	.adopt = scan_adopt,
	.resolve = NULL,
};
