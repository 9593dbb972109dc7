/* SPDX-License-Identifier: MIT */
/*
 * mprotect_collect.c: one pass over the bitmap, held against the mappings.
 *
 * A page that can be written and is not dirty was not made writable by us: its
 * mapping or its protection was replaced, and is reported as lost. [G3]
 */
#include "dirtymap.h"
#include "mprotect.h"
#include "vma.h"
#include "sys.h"

/* Arming passes over so many clean pages rather than pay another call. */
#define ARM_GAP_PAGES 16

struct pass {
	struct wtrack *t;
	const struct wt_span *s;
	struct wt_sink *sink;
	bool clear;
	uintptr_t lo, hi;    /* taken, but not yet protected */
	uint64_t clears;     /* clearings counted before this pass */
	uint64_t generation; /* of the transitions, likewise */
};

static void arm_taken(struct pass *p)
{
	if (p->lo < p->hi)
		wt_mprotect_protect(p->t, p->s, p->lo, p->hi);
	p->lo = p->hi = 0;
}

/* Reports [start, end) and makes it clean; false when the sink is full. */
static bool take(struct pass *p, uintptr_t start, uintptr_t end, uint64_t flags)
{
	if (wt_range_grain(p->s->attr) > wt_page_size())
		flags |= WTRACK_RUN_COARSE;
	if (wt_dirty_degraded(start, end))
		flags |= WTRACK_RUN_DEGRADED;
	if (!wt_sink_add(p->sink, start, end, flags))
		return false;
	if (!p->clear)
		return true;
	if (p->hi && start - p->hi > ARM_GAP_PAGES * wt_page_size())
		arm_taken(p);
	wt_dirty_clear(start, end);
	if (!p->hi)
		p->lo = start;
	p->hi = end;
	return true;
}

/* The dirty pages of [*at, end), which is read-only where it is clean. */
static bool take_dirty(struct pass *p, uintptr_t *at, uintptr_t end)
{
	uintptr_t lo, hi;

	while (wt_dirty_next(*at, end, &lo, &hi)) {
		if (!take(p, lo, hi, WTRACK_RUN_WRITTEN)) {
			*at = lo;
			return false;
		}
		*at = hi;
	}
	*at = end;
	return true;
}

/*
 * Whether no other clearing was under way anywhere since `before` was read:
 * else a page that looks writable and clean may be about to be protected.
 */
static bool is_steady(const struct pass *p)
{
	uint64_t now = __atomic_load_n(&wt_mprotect_announced.clears,
				       __ATOMIC_SEQ_CST);

	return now == p->clears + p->clear && !(p->clears & 0xffffffffu);
}

/*
 * [*at, end) can be written: what is not dirty there got its mapping or its
 * protection from somebody else.
 */
static bool take_writable(struct pass *p, uintptr_t *at, uintptr_t end)
{
	while (*at < end) {
		uint64_t flags = WTRACK_RUN_DEGRADED;
		uintptr_t lo, hi;

		if (!wt_dirty_next(*at, end, &lo, &hi))
			lo = hi = end;
		if (*at < lo) {
			if (is_steady(p))
				flags = wt_lost_flags(p->t, *at, lo,
						      p->generation);
			if (!take(p, *at, lo, flags))
				return false;
			*at = lo;
		}
		if (lo < hi && !take(p, lo, hi, WTRACK_RUN_WRITTEN))
			return false;
		*at = hi;
	}
	return true;
}

static bool take_gap(struct pass *p, uintptr_t *at, uintptr_t end)
{
	if (*at >= end)
		return true;
	if (!wt_sink_add(p->sink, *at, end,
			 wt_lost_flags(p->t, *at, end, p->generation)))
		return false;
	*at = end;
	return true;
}

/*
 * Walks the writable mappings only, of which there are as many as there are
 * dirty runs; all of them if there is a gap somewhere.
 */
static void walk_on(struct pass *p, struct wt_vma_walk *w, uintptr_t *at,
		    bool gaps)
{
	uintptr_t end = p->s->end;

	while (*at < end) {
		struct wt_vma v;
		bool more = wt_vma_walk_next(w, &v) > 0 && v.start < end;
		uintptr_t lo = more ? v.start : end;
		uintptr_t hi = more && v.end < end ? v.end : end;

		lo = lo < *at ? *at : lo;
		wt_count(&p->t->count.kernel_calls, 1);
		if (!(gaps ? take_gap(p, at, lo) : take_dirty(p, at, lo)))
			return;
		if (more && (v.prot & PROT_WRITE)) {
			if (!take_writable(p, at, hi))
				return;
		} else if (!take_dirty(p, at, hi)) {
			return;
		}
	}
}

static void walk(struct pass *p, uintptr_t *at, bool gaps)
{
	struct wt_vma_walk w;

	wt_vma_walk_init(&w, *at, !gaps);
	walk_on(p, &w, at, gaps);
	wt_vma_walk_end(&w);
}

void wt_mprotect_collect(struct wtrack *t, const struct wt_span *s,
			 uintptr_t *at, struct wt_sink *sink, unsigned flags)
{
	bool clear = flags & WTRACK_CLEAR;
	struct pass p = { t, s, sink, clear, 0, 0, 0, wt_generation() };

	p.clears = __atomic_load_n(&wt_mprotect_announced.clears,
				   __ATOMIC_SEQ_CST);
	if (clear)
		wt_clearing_begin(&wt_mprotect_announced);
	if (s->attr & WT_STABLE)
		take_dirty(&p, at, s->end);
	else
		walk(&p, at, !s->mapped);
	arm_taken(&p);
	if (clear)
		wt_clearing_end(&wt_mprotect_announced);
}
