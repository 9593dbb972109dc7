/* SPDX-License-Identifier: MIT */
/* wp.c: arms, reads back and gives up ranges under synchronous write-protect.
 */
#include "wp.h"
#include "dirtymap.h"
#include "pagemap.h"
#include "uapi.h"
#include "vma.h"

#include <errno.h>

/* Entries read at once: 2 KiB of stack, and the pages of 1 MiB. */
#define ENTRIES 256

static struct wt_wp *room_of(const struct wtrack *t)
{
	return wt_be(t)->room;
}

int wt_wp_open(struct wt_wp *wp)
{
	const uint64_t most =
		wp->features | WT_FEATURE_PAGEFAULT_WP | WT_FEATURE_WP_HUGE_SHM;
	/* [K-wp-unpopulated] since 6.4; what lacks it is populated instead. */
	const uint64_t sets[] = { most | WT_FEATURE_WP_UNPOP, most, 0 };
	int rc = wt_uffd_open(&wp->uffd, sets, &wp->doors);

	wp->doors.pagemap = wt_pagemap_open(&wp->pagemap);
	if (!rc)
		rc = wp->doors.pagemap;
	if (rc)
		wt_wp_close(wp);
	return rc;
}

void wt_wp_close(struct wt_wp *wp)
{
	wt_uffd_close(&wp->uffd);
	wt_fd_close(&wp->pagemap);
}

/*
 * [K-wp-unpopulated] Where nothing is mapped nothing can be armed, in anonymous
 * memory of older kernels and in hugetlb: a read maps something, usually the
 * zero page.  What cannot be populated reads as dirty.
 */
static void populate(const struct wt_wp *wp, const struct wt_span *s)
{
	if ((s->attr & WT_HUGETLB) ||
	    !((s->attr & WT_FILE) || (wp->uffd.features & WT_FEATURE_WP_UNPOP)))
		wt_sys_madvise(s->start, s->end - s->start,
			       WT_MADV_POPULATE_READ);
}

/* [K-wp-unpopulated] */
static int protect(struct wtrack *t, const struct wt_span *s)
{
	const struct wt_wp *wp = room_of(t);

	populate(wp, s);
	wt_count(&t->count.kernel_calls, 1);
	return wt_uffd_protect(&wp->uffd, s->start, s->end, true);
}

int wt_wp_arm(struct wtrack *t, const struct wt_span *s, unsigned flags)
{
	int rc;

	(void)flags;
	if (!(s->attr & WT_STABLE))
		return protect(t, s);
	wt_dirty_clear(s->start, s->end);
	rc = protect(t, s);
	wt_heed_announced(&room_of(t)->announced, s);
	if (rc)
		wt_dirty_set(s->start, s->end);
	return rc;
}

/* Page by page where a part is not registered any more: -ENOENT, and done. */
static int unprotect(const struct wt_wp *wp, const struct wt_span *s)
{
	int rc = wt_uffd_protect(&wp->uffd, s->start, s->end, false);

	if (rc != -ENOENT || (s->attr & WT_HUGETLB))
		return rc;
	for (uintptr_t at = s->start; at < s->end; at += wt_page_size())
		wt_uffd_protect(&wp->uffd, at, at + wt_page_size(), false);
	return rc;
}

int wt_wp_mark(struct wtrack *t, const struct wt_span *s)
{
	struct wt_wp *wp = room_of(t);
	int rc;

	if (!(s->attr & WT_STABLE))
		return unprotect(wp, s);
	wt_announce_any(&wp->announced);
	wt_dirty_set(s->start, s->end);
	rc = unprotect(wp, s);
	wt_dirty_set(s->start, s->end);
	wt_withdraw_any(&wp->announced);
	return rc;
}

/*
 * Of a block in which a mapping was replaced the rest is registered still, but
 * nothing can be done to all of it: then the page of the fault has to do.
 */
static int unprotect_block(const struct wt_uffd *uffd,
			   const struct wt_span *block, uintptr_t addr,
			   bool asleep)
{
	uintptr_t start = block->start, end = block->end;
	int rc = asleep ? wt_uffd_unprotect_asleep(uffd, start, end)
			: wt_uffd_protect(uffd, start, end, false);

	if (!rc || (block->attr & WT_HUGETLB))
		return rc;
	start = addr & ~(wt_page_size() - 1);
	end = start + wt_page_size();
	return asleep ? wt_uffd_unprotect_asleep(uffd, start, end)
		      : wt_uffd_protect(uffd, start, end, false);
}

int wt_wp_resolve(struct wtrack *t, const struct wt_span *s, uintptr_t addr)
{
	struct wt_span block = wt_block_at(s, addr);
	struct wt_wp *wp = room_of(t);
	uint64_t *slot;
	int rc;

	if (!(s->attr & WT_STABLE))
		return unprotect_block(&wp->uffd, &block, addr, false);
	slot = wt_announce(&wp->announced, addr);
	wt_dirty_set(block.start, block.end);
	rc = unprotect_block(&wp->uffd, &block, addr, true);
	wt_dirty_set(block.start, block.end);
	wt_withdraw_announcement(&wp->announced, slot);
	/* Not before: a writer that went on might clear, and find it dirty. */
	if (!(wp->features & WT_FEATURE_SIGBUS))
		wt_uffd_wake(&wp->uffd, block.start, block.end);
	return rc;
}

/* What is lost or gone needs no unregistering, so errors do not matter. */
int wt_wp_withdraw(struct wtrack *t, const struct wt_span *s)
{
	const struct wt_uffd *uffd = &room_of(t)->uffd;

	wt_uffd_unregister(uffd, s->start, s->end);
	wt_uffd_wake(uffd, s->start, s->end);
	if (s->attr & WT_STABLE)
		wt_dirty_clear(s->start, s->end);
	return 0;
}

int wt_wp_enroll(struct wtrack *t, const struct wt_span *s, bool dirty)
{
	bool stable = s->attr & WT_STABLE;
	int rc = stable ? wt_dirty_reserve(s->start, s->end) : 0;

	if (!rc)
		rc = wt_uffd_register(&room_of(t)->uffd, s->start, s->end);
	if (!rc && dirty && stable)
		wt_dirty_set(s->start, s->end);
	if (rc || dirty)
		return rc;
	rc = wt_wp_arm(t, s, 0);
	if (rc)
		wt_wp_withdraw(t, s);
	return rc;
}

void wt_wp_adopt(struct wtrack *t, const struct wt_span *s)
{
	wt_uffd_register(&room_of(t)->uffd, s->start, s->end);
}

/* Not PAGEMAP_SCAN: this room is for kernels that have none. */
long wt_wp_populated(struct wtrack *t, uintptr_t *at, uintptr_t end,
		     struct wt_page_region *part, size_t n)
{
	return wt_pagemap_read_populated(&room_of(t)->pagemap, at, end, part,
					 n);
}

int wt_wp_inspect(struct wtrack *t, const struct wt_span *s, uintptr_t addr)
{
	const struct wt_wp *wp = room_of(t);
	struct wt_span block = wt_block_at(s, addr);
	uint64_t entry;
	long n = wt_pagemap_read(&wp->pagemap, addr, &entry, 1);

	if (n < 0)
		return (int)n;
	/* It is dirty: taking what it does not have changes nothing. */
	return entry & WT_ENTRY_UFFD_WP
		       ? 0
		       : wt_uffd_protect(&wp->uffd, block.start, block.end,
					 false);
}

/* ---- collection ---- */

struct pass {
	struct wtrack *t;
	const struct wt_span *s;
	struct wt_sink *sink;
	bool clear;
	bool look;
	uint64_t generation;
};

/* Flags for a run that could not be armed, or is not registered at all. */
static uint64_t failure_flags(const struct pass *p, uintptr_t start,
			      uintptr_t end, int rc)
{
	if (rc != -ENOMEM && rc != -EFAULT)
		return wt_lost_flags(p->t, start, end, p->generation);
	wt_count(&p->t->count.degraded, 1);
	return WTRACK_RUN_DEGRADED;
}

/*
 * Arms a dirty run, or un-arms it once more, which changes nothing, but tells
 * whether it is registered still (as a stable one is).
 */
static int settle(const struct pass *p, const struct wt_span *run)
{
	if (p->clear)
		return wt_wp_arm(p->t, run, 0);
	if (p->look || (run->attr & WT_STABLE))
		return 0;
	wt_count(&p->t->count.kernel_calls, 1);
	return wt_wp_mark(p->t, run);
}

/* Reports [start, end), which is dirty; false when the sink is full. */
static bool take(const struct pass *p, uintptr_t start, uintptr_t end)
{
	const struct wt_span run = { start, end, p->s->attr, true };
	uint64_t flags = WTRACK_RUN_WRITTEN;
	struct wt_sink *sink = p->sink;
	int rc;

	if (wt_range_grain(run.attr) > wt_page_size())
		flags |= WTRACK_RUN_COARSE;
	if (sink->n < sink->cap) {
		rc = settle(p, &run);
		if (rc)
			flags = failure_flags(p, start, end, rc);
		return wt_sink_add(sink, start, end, flags);
	}
	/* What is armed must be reported: first, where no run can be added. */
	if (!wt_sink_add(sink, start, end, flags))
		return false;
	rc = settle(p, &run);
	if (rc)
		sink->runs[sink->n - 1].flags |=
			failure_flags(p, start, end, rc);
	return true;
}

/* A run of dirty pages, which may begin and end anywhere in what is read. */
struct dirty {
	uintptr_t start;
	uintptr_t end; /* 0: none */
};

/* The run up to `end`; moves its start there, unless the sink is full. */
static bool take_gap(const struct pass *p, struct dirty *run, uintptr_t end)
{
	if (!wt_sink_add(p->sink, run->start, end,
			 wt_lost_flags(p->t, run->start, end, p->generation)))
		return false;
	run->start = end;
	return true;
}

static bool take_part(const struct pass *p, struct dirty *run, uintptr_t end)
{
	if (!take(p, run->start, end))
		return false;
	run->start = end;
	return true;
}

/*
 * Mapping by mapping where there are gaps: arming succeeds or fails for a range
 * as a whole, but what is not mapped any more is lost and the rest is not.
 */
static bool take_run(const struct pass *p, struct dirty *run)
{
	struct wt_vma_walk w;
	bool room = true;

	wt_vma_walk_init(&w, run->start, false);
	while (!p->s->mapped && room && run->start < run->end) {
		struct wt_vma v;
		int rc = wt_vma_walk_next(&w, &v);
		bool more = rc > 0 && v.start < run->end;
		uintptr_t lo = more ? v.start : run->end;
		uintptr_t hi = more && v.end < run->end ? v.end : run->end;

		if (rc < 0)
			break;
		if (run->start < lo)
			room = take_gap(p, run, lo);
		if (room && run->start < hi)
			room = take_part(p, run, hi);
	}
	wt_vma_walk_end(&w);
	return room && (run->start == run->end || take_part(p, run, run->end));
}

/* Looks through `n` entries from `at` on; false when the sink is full. */
static bool take_ended(const struct pass *p, struct dirty *run, uintptr_t at,
		       const uint64_t *entry, long n)
{
	size_t page = wt_page_size();

	for (long i = 0; i < n; i++, at += page) {
		if (!(entry[i] & WT_ENTRY_UFFD_WP)) {
			if (!run->end)
				run->start = at;
			run->end = at + page;
		} else if (run->end) {
			if (!take_run(p, run))
				return false;
			run->end = 0;
		}
	}
	return true;
}

/* [*at, s->end) cannot be read: nothing is known of it. */
static void take_unreadable(const struct pass *p, uintptr_t *at, int rc)
{
	if (wt_sink_add(p->sink, *at, p->s->end,
			failure_flags(p, *at, p->s->end, rc)))
		*at = p->s->end;
}

/* A stable range: the bitmap says it all. */
static void collect_stable(const struct pass *p, uintptr_t *at)
{
	uintptr_t lo, hi;

	while (wt_dirty_next(*at, p->s->end, &lo, &hi)) {
		/* Empty where another collection has just cleared it. */
		if (lo < hi && !take(p, lo, hi)) {
			*at = lo;
			return;
		}
		*at = hi;
	}
	*at = p->s->end;
}

/* Any other: the page tables do. */
static void collect_entries(const struct pass *p, uintptr_t *at)
{
	const struct wt_fd *pagemap = &room_of(p->t)->pagemap;
	const struct wt_span *s = p->s;
	struct dirty run = { *at, 0 };
	uint64_t entry[ENTRIES];
	uintptr_t pos = *at;

	while (pos < s->end) {
		size_t left = (s->end - pos) >> wt_page_shift();
		long n = wt_pagemap_read(pagemap, pos, entry,
					 left < ENTRIES ? left : ENTRIES);

		wt_count(&p->t->count.kernel_calls, 1);
		*at = run.end ? run.start : pos;
		if (n < 0) {
			take_unreadable(p, at, (int)n);
			return;
		}
		if (!take_ended(p, &run, pos, entry, n)) {
			*at = run.start;
			return;
		}
		pos += (size_t)n << wt_page_shift();
	}
	*at = run.end && !take_run(p, &run) ? run.start : s->end;
}

void wt_wp_collect(struct wtrack *t, const struct wt_span *s, uintptr_t *at,
		   struct wt_sink *sink, unsigned flags)
{
	const struct pass p = { t,
				s,
				sink,
				flags & WTRACK_CLEAR,
				flags & WT_LOOK,
				wt_generation() };

	if (s->attr & WT_STABLE)
		collect_stable(&p, at);
	else
		collect_entries(&p, at);
}
