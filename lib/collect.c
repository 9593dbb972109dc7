/* SPDX-License-Identifier: MIT */
/*
 * collect.c: one collection: watched stretches, in order, through the door.
 *
 * A straight line: take the next stretch from the table, let the backend add
 * its dirty pages to the sink, until the sink is full or the end is reached.
 * Nothing here or behind the door waits, allocates or registers. [G4]
 */
#include "fork.h"
#include "hot.h"
#include "stretch.h"
#include "sys.h"

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

/*
 * An initial stretch is dirty as a whole, without asking.  Armed before it is
 * reported, while its contents are read after: nothing is lost. [G1]
 */
static bool add_initial(struct wtrack *t, const struct wt_stretch *x,
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
		rc = x->s.attr & WT_POLICY ? wt_hot_initial(t, &x->s, flags)
					   : wt_be(t)->arm(t, &x->s, flags);
	if (rc)
		why |= rc == -ENOENT || !x->s.mapped ? WTRACK_RUN_LOST
						     : WTRACK_RUN_DEGRADED;
	if (!wt_sink_add(sink, was, x->s.end, why))
		return false;
	if (clear && !rc)
		wt_stretch_cleared(x);
	return true;
}

static void collect_stretch(struct wtrack *t, const struct wt_stretch *x,
			    uintptr_t *at, struct wt_sink *sink, unsigned flags)
{
	*at = x->s.start;
	if (!x->fresh && (x->s.attr & WT_POLICY))
		wt_hot_collect(t, &x->s, at, sink, flags);
	else if (!x->fresh)
		wt_be(t)->collect(t, &x->s, at, sink, flags);
	else if (add_initial(t, x, sink, flags))
		*at = x->s.end;
}

/* Up to STRETCHES_PER_SECTION of them; false when there is no more to do. */
static bool collect_some(struct wtrack *t, uintptr_t *at, uintptr_t limit,
			 struct wt_sink *sink, unsigned flags)
{
	size_t most = wt_be(t)->first_pages * wt_page_size();
	struct wt_feed f;
	struct wt_stretch x;

	wt_feed_init(&f);
	for (int i = 0; i < STRETCHES_PER_SECTION; i++) {
		if (!wt_next_stretch(t, &f, *at, limit, &x)) {
			*at = limit;
			return false;
		}
		wt_stretch_cut(&x, &f, most);
		most *= 2;
		x.s.mapped = wt_stretch_is_mapped(t, &f, &x.s);
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
	bool tells = clear && !(flags & WT_PART);
	struct wt_section section;

	if (tells)
		wt_hot_begin_call(t, *at);
	while (more) {
		if (clear)
			wt_section_enter(&section);
		more = collect_some(t, at, limit, sink, flags);
		if (clear)
			wt_section_leave(&section);
	}
	if (tells)
		wt_hot_end_call(t, *at);
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
	return wt_cursor_is_bad(at) ? -EINVAL : 0;
}

/* The end of a pass, or of one of the parts that make up a pass. */
static void count_pass(struct wtrack *t, struct wtrack_cursor *at)
{
	uint64_t share = at->end ? at->share : WT_PASS;
	uint64_t was;

	at->share = 0;
	if (share == WT_PASS) {
		wt_count(&t->epoch, 1);
	} else if (share) {
		was = __atomic_fetch_add(&t->pass, share, __ATOMIC_RELAXED);
		wt_count(&t->epoch, (was + share) / WT_PASS - was / WT_PASS);
	}
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
	if (at->share)
		flags |= WT_PART;
	if (flags & WTRACK_GET)
		wt_collect(t, &at->next, limit, &sink, flags);
	else
		discard(t, &at->next, limit, flags);
	if (at->next >= limit && (flags & WTRACK_CLEAR))
		count_pass(t, at);
	wt_count(&t->count.collections, 1);
	wt_count(&t->count.runs, sink.n);
	return (ssize_t)sink.n;
}
