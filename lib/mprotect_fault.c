/* SPDX-License-Identifier: MIT */
/* mprotect_fault.c: a write fault makes its page writable, and dirty. */
#include "dirtymap.h"
#include "mprotect.h"
#include "sys.h"

struct wt_announced wt_mprotect_announced;

/* A fault at the limit of mappings un-protects at most so many neighbours. */
#define WIDEN_PAGES 512

int wt_mprotect_set(uintptr_t start, uintptr_t end, uint64_t attr, bool write)
{
	int prot = (int)(attr & WT_PROT_MASK);

	return wt_sys_mprotect(start, end - start,
			       write ? prot : prot & ~PROT_WRITE);
}

static int unprotect(const struct wt_span *s, uintptr_t start, uintptr_t end)
{
	int rc;

	wt_dirty_set(start, end);
	rc = wt_mprotect_set(start, end, s->attr, true);
	wt_dirty_set(start, end);
	return rc;
}

/* Likewise, for pages that nobody wrote: they say so.  [G2] */
static int unprotect_more(const struct wt_span *s, uintptr_t start,
			  uintptr_t end)
{
	int rc;

	wt_dirty_set_degraded(start, end);
	rc = unprotect(s, start, end);
	/* Again: a collection may have cleared all in between. */
	wt_dirty_set_degraded(start, end);
	return rc;
}

/*
 * [K-map-limit] At vm.max_map_count no mapping can be split.  Moving the border
 * to the nearest writable neighbour needs no split; joining two neighbours
 * even frees a mapping; the whole range has (nearly) no inner borders.
 */
static int widen(struct wtrack *t, const struct wt_span *s, uintptr_t page,
		 uintptr_t end)
{
	size_t most = WIDEN_PAGES * wt_page_size();
	uintptr_t left = wt_dirty_before(s->start, page), right, ignored;
	int rc = -1;

	if (!wt_dirty_next(end, s->end, &right, &ignored))
		right = s->end;
	wt_announce_any(&wt_mprotect_announced);
	wt_count(&t->count.widened, 1);
	if (left > s->start && page - left <= most &&
	    (right == s->end || page - left <= right - end))
		rc = unprotect_more(s, left, end);
	if (rc && right < s->end && right - end <= most)
		rc = unprotect_more(s, page, right);
	if (rc)
		rc = unprotect_more(s, left, right);
	if (rc) {
		wt_count(&t->count.degraded, 1);
		rc = unprotect_more(s, s->start, s->end);
	}
	wt_withdraw_any(&wt_mprotect_announced);
	return rc;
}

bool wt_mprotect_resolve(struct wtrack *t, const struct wt_span *s,
			 uintptr_t addr)
{
	struct wt_span block = wt_block_at(s, addr);
	uint64_t *slot;
	int rc;

	if (!(s->attr & PROT_WRITE))
		return false;
	slot = wt_announce(&wt_mprotect_announced, addr);
	rc = unprotect(s, block.start, block.end);
	if (rc)
		rc = widen(t, s, block.start, block.end);
	wt_withdraw_announcement(&wt_mprotect_announced, slot);
	wt_count(&t->count.faults, 1);
	return rc == 0;
}

int wt_mprotect_mark(struct wtrack *t, const struct wt_span *s)
{
	int rc = 0;

	wt_announce_any(&wt_mprotect_announced);
	wt_dirty_set(s->start, s->end);
	if (s->attr & PROT_WRITE)
		rc = unprotect(s, s->start, s->end);
	wt_withdraw_any(&wt_mprotect_announced);
	if (rc)
		rc = widen(t, s, s->start, s->end);
	return rc;
}
