/* SPDX-License-Identifier: MIT */
/* stretch.c: cuts what is watched into stretches for collect.c and clear.c. */
#include "stretch.h"
#include "vma.h"

static const struct wt_range *feed_next(const struct wtrack *t,
					struct wt_feed *f, uintptr_t at)
{
	while (f->i < f->n && f->r[f->i].end <= at)
		f->i++;
	if (f->i == f->n) {
		f->i = 0;
		f->n = wt_table_peek(&t->table, at, f->r);
		f->gaps = false;
	}
	return f->i < f->n ? &f->r[f->i] : NULL;
}

/*
 * The part of one range from `at` on, below `limit`, that is not in transition,
 * and initial or not initial as a whole.  Empty: nothing there.
 */
static struct wt_stretch part_of(const struct wt_range *r, uintptr_t at,
				 uintptr_t limit)
{
	uintptr_t fresh = wt_fresh_get(r->fresh);
	struct wt_stretch x = { { r->start > at ? r->start : at,
				  r->end < limit ? r->end : limit, r->attr,
				  false },
				NULL,
				false };

	if (x.s.start >= x.s.end)
		return x;
	wt_clip_moving(&x.s.start, &x.s.end);
	if (x.s.start >= fresh)
		x.fresh = r->fresh;
	else if (x.s.end > fresh)
		x.s.end = fresh;
	x.last_of_range = x.s.end == r->end;
	return x;
}

/* Joins the ranges that follow without a gap and without a difference. */
static void extend(const struct wtrack *t, struct wt_feed *f, uintptr_t limit,
		   struct wt_stretch *x)
{
	const struct wt_range *r;

	while (!x->fresh && x->last_of_range && x->s.end < limit &&
	       (r = feed_next(t, f, x->s.end)) && r->start == x->s.end &&
	       r->attr == x->s.attr) {
		struct wt_stretch more = part_of(r, x->s.end, limit);

		if (more.fresh || more.s.start != x->s.end ||
		    more.s.start >= more.s.end)
			break;
		x->s.end = more.s.end;
		x->last_of_range = more.last_of_range;
		f->i += x->last_of_range;
	}
}

static bool find_stretch(const struct wtrack *t, struct wt_feed *f,
			 uintptr_t at, uintptr_t limit, struct wt_stretch *x)
{
	x->s.start = x->s.end = at;
	while (x->s.start == x->s.end) {
		const struct wt_range *r =
			x->s.end < limit ? feed_next(t, f, x->s.end) : NULL;

		if (!r || r->start >= limit)
			return false;
		*x = part_of(r, x->s.end, limit);
		f->i += x->last_of_range || x->s.start >= x->s.end;
	}
	return true;
}

/*
 * The table must not have moved between the copying and the look at what is in
 * transition: an unwatch could have come and gone in between.  With both as
 * they were, any unwatch that follows waits for our section.  Where the table
 * moves all the time, ranges are taken one by one.
 */
bool wt_next_stretch(const struct wtrack *t, struct wt_feed *f, uintptr_t at,
		     uintptr_t limit, struct wt_stretch *x)
{
	bool found, join = true;
	uint64_t version;

	for (;; join = false) {
		version = wt_table_version(&t->table);
		if (f->version != version)
			f->i = f->n = 0;
		f->version = version;
		found = find_stretch(t, f, at, limit, x);
		if (found && join)
			extend(t, f, limit, x);
		if (wt_table_version(&t->table) == version)
			return found;
	}
}

static int look(struct wtrack *t, uintptr_t start, uintptr_t end)
{
	wt_count(&t->count.kernel_calls, 1);
	return wt_vma_mapped(start, end);
}

bool wt_stretch_is_mapped(struct wtrack *t, struct wt_feed *f,
			  const struct wt_span *s)
{
	uintptr_t last = f->n ? f->r[f->n - 1].end : s->end;

	if (!(t->caps & WTRACK_CAP_LOSS) || (s->attr & WT_STABLE) ||
	    s->end <= f->mapped_to)
		return true;
	if (last > s->end && !f->gaps) {
		f->gaps = look(t, s->start, last) != 0;
		f->mapped_to = f->gaps ? 0 : last;
	}
	if (s->end > f->mapped_to && !look(t, s->start, s->end))
		f->mapped_to = s->end;
	return s->end <= f->mapped_to;
}

void wt_stretch_cut(struct wt_stretch *x, struct wt_feed *f, size_t most)
{
	if (x->fresh || !most || (x->s.attr & WT_STABLE) ||
	    x->s.end - x->s.start <= most)
		return;
	x->s.end = x->s.start + most;
	x->last_of_range = false;
	f->i = f->n = 0;
}

/* Fails where it was cleared out of order, and the rest stays initial. */
void wt_stretch_cleared(const struct wt_stretch *x)
{
	uintptr_t was = x->s.start;

	__atomic_compare_exchange_n(x->fresh, &was,
				    x->last_of_range ? WT_NOT_FRESH : x->s.end,
				    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
