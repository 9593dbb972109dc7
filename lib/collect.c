/* SPDX-License-Identifier: MIT */
/*
 * collect.c: one collection: watched stretches, in order, through the door.
 *
 * A straight line: take the next stretch from the table, let the backend add
 * its dirty pages to the sink, until the sink is full or the end is reached.
 * Nothing here or behind the door waits, allocates or registers. [G4]
 */
#include "engine.h"
#include "fork.h"
#include "sys.h"
#include "vma.h"

#include <errno.h>
#include <limits.h>

#define WT_API __attribute__((visibility("default")))

/*
 * A clearing collection runs with signals blocked.  It opens its section anew
 * after so many stretches, so that a signal waits for milliseconds at most.
 */
#define STRETCHES_PER_SECTION 64

/* Runs thrown away per call where only clearing was asked: 1.5 KiB of stack. */
#define DISCARDED 64

/* Ranges copied out of one version of the table; `i` is the next. */
struct feed {
	uint64_t version;
	struct wt_range r[WT_LEAF_RANGES];
	size_t i;
	size_t n;
	uintptr_t mapped_to; /* no gap from the last stretch up to here */
	bool gaps;           /* between these ranges; looked for once */
};

/* A stretch, and for an initial one the word that says so. */
struct stretch {
	struct wt_span s;
	uintptr_t *fresh; /* NULL: not initial */
	bool last_of_range;
};

static const struct wt_range *feed_next(const struct wtrack *t, struct feed *f,
					uintptr_t at)
{
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
static struct stretch part_of(const struct wt_range *r, uintptr_t at,
			      uintptr_t limit)
{
	uintptr_t fresh = wt_fresh_get(r->fresh);
	struct stretch x = { { r->start > at ? r->start : at,
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
static void extend(const struct wtrack *t, struct feed *f, uintptr_t limit,
		   struct stretch *x)
{
	const struct wt_range *r;

	while (!x->fresh && x->last_of_range && x->s.end < limit &&
	       (r = feed_next(t, f, x->s.end)) && r->start == x->s.end &&
	       r->attr == x->s.attr) {
		struct stretch more = part_of(r, x->s.end, limit);

		if (more.fresh || more.s.start != x->s.end ||
		    more.s.start >= more.s.end)
			break;
		x->s.end = more.s.end;
		x->last_of_range = more.last_of_range;
		f->i += x->last_of_range;
	}
}

static bool find_stretch(const struct wtrack *t, struct feed *f, uintptr_t at,
			 uintptr_t limit, struct stretch *x)
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
 * The next stretch from `at` on: adjacent ranges of equal attributes are one,
 * because one system call serves them all.  False at the end.
 *
 * The table must not have moved between the copying and the look at what is in
 * transition: an unwatch could have come and gone in between.  With both as
 * they were, any unwatch that follows waits for our section.  Where the table
 * moves all the time, ranges are taken one by one.
 */
static bool next_stretch(const struct wtrack *t, struct feed *f, uintptr_t at,
			 uintptr_t limit, struct stretch *x)
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

/*
 * An initial stretch is dirty as a whole, without asking.  Armed before it is
 * reported, while its contents are read after: nothing is lost. [G1]
 */
static bool add_initial(struct wtrack *t, const struct stretch *x,
			struct wt_sink *sink, unsigned flags)
{
	uint64_t why = WTRACK_RUN_INITIAL;
	bool clear = flags & WTRACK_CLEAR;
	uintptr_t was = x->s.start;
	int rc = 0;

	if (sink->n == sink->cap &&
	    (!sink->n || !clear || sink->runs[sink->n - 1].end != was))
		return wt_sink_add(sink, was, x->s.end, why);
	if (clear)
		rc = wt_be(t)->arm(t, &x->s, flags);
	if (rc)
		why |= rc == -ENOENT || !x->s.mapped ? WTRACK_RUN_LOST
						     : WTRACK_RUN_DEGRADED;
	if (!wt_sink_add(sink, was, x->s.end, why))
		return false;
	/* Fails where it was cleared out of order, and the rest stays initial.
	 */
	if (clear && !rc)
		__atomic_compare_exchange_n(
			x->fresh, &was,
			x->last_of_range ? WT_NOT_FRESH : x->s.end, false,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return true;
}

static int look(struct wtrack *t, uintptr_t start, uintptr_t end)
{
	wt_count(&t->count.kernel_calls, 1);
	return wt_vma_mapped(start, end);
}

/*
 * Whether all of the stretch is mapped.  One look serves all ranges at hand if
 * what lies between them is mapped too: it costs as much as a small scan.
 */
static bool is_mapped(struct wtrack *t, struct feed *f, const struct wt_span *s)
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

static void collect_stretch(struct wtrack *t, const struct stretch *x,
			    uintptr_t *at, struct wt_sink *sink, unsigned flags)
{
	*at = x->s.start;
	if (!x->fresh)
		wt_be(t)->collect(t, &x->s, at, sink, flags);
	else if (add_initial(t, x, sink, flags))
		*at = x->s.end;
}

/* No more than `most` bytes of it, if that is not 0; all if it is initial. */
static void cut(struct stretch *x, struct feed *f, size_t most)
{
	if (x->fresh || !most || (x->s.attr & WT_STABLE) ||
	    x->s.end - x->s.start <= most)
		return;
	x->s.end = x->s.start + most;
	x->last_of_range = false;
	f->i = f->n = 0;
}

/* Up to STRETCHES_PER_SECTION of them; false when there is no more to do. */
static bool collect_some(struct wtrack *t, uintptr_t *at, uintptr_t limit,
			 struct wt_sink *sink, unsigned flags)
{
	size_t most = wt_be(t)->first_pages * wt_page_size();
	struct feed f;
	struct stretch x;

	f.version = 0;
	f.i = f.n = 0;
	f.mapped_to = 0;
	for (int i = 0; i < STRETCHES_PER_SECTION; i++) {
		if (!next_stretch(t, &f, *at, limit, &x)) {
			*at = limit;
			return false;
		}
		cut(&x, &f, most);
		most *= 2;
		x.s.mapped = is_mapped(t, &f, &x.s);
		collect_stretch(t, &x, at, sink, flags);
		if (*at < x.s.end)
			return false;
	}
	return true;
}

void wt_collect(struct wtrack *t, uintptr_t *at, uintptr_t limit,
		struct wt_sink *sink, unsigned flags)
{
	bool clear = flags & WTRACK_CLEAR, more = true;
	struct wt_section section;

	while (more) {
		if (clear)
			wt_section_enter(&section);
		more = collect_some(t, at, limit, sink, flags);
		if (clear)
			wt_section_leave(&section);
	}
}

static void discard(struct wtrack *t, uintptr_t *at, uintptr_t limit,
		    unsigned flags)
{
	struct wtrack_run runs[DISCARDED];

	while (*at < limit) {
		/* cppcheck-suppress legacyUninitvar; the sink fills it */
		struct wt_sink sink = { runs, 0, DISCARDED };

		wt_collect(t, at, limit, &sink, flags | WTRACK_GET);
	}
}

static int check(const struct wtrack *t, const struct wtrack_cursor *at,
		 const struct wtrack_run *runs, size_t nruns, unsigned flags)
{
	const unsigned known = WTRACK_GET | WTRACK_CLEAR | WTRACK_STOPPED;

	if (!t || (flags & ~known) || !(flags & (WTRACK_GET | WTRACK_CLEAR)))
		return -EINVAL;
	if ((flags & WTRACK_GET) &&
	    (!runs || !nruns || nruns > SSIZE_MAX / sizeof(*runs)))
		return -EINVAL;
	if (at && (at->reserved[0] || at->reserved[1] ||
		   (at->next & (wt_page_size() - 1)) ||
		   (at->end & (wt_page_size() - 1))))
		return -EINVAL;
	return 0;
}

WT_API ssize_t wtrack_collect(struct wtrack *t, struct wtrack_cursor *at,
			      struct wtrack_run *runs, size_t nruns,
			      unsigned flags)
{
	struct wtrack_cursor start = WTRACK_CURSOR_INIT;
	struct wt_sink sink = { runs, 0, nruns };
	uintptr_t limit;
	int rc = check(t, at, runs, nruns, flags);

	if (rc)
		return rc;
	wt_fork_check();
	if (flags & WTRACK_CLEAR)
		wt_handler_replaced(t);
	if (!at)
		at = &start;
	/* The last page of the address space is never a user's. */
	limit = at->end ? at->end : ~(uintptr_t)0 & ~(wt_page_size() - 1);
	if (at->next >= limit)
		return 0;
	if (flags & WTRACK_GET)
		wt_collect(t, &at->next, limit, &sink, flags);
	else
		discard(t, &at->next, limit, flags);
	if (at->next >= limit && !at->end && (flags & WTRACK_CLEAR))
		wt_count(&t->epoch, 1);
	wt_count(&t->count.collections, 1);
	wt_count(&t->count.runs, sink.n);
	return (ssize_t)sink.n;
}
