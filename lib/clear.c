/* SPDX-License-Identifier: MIT */
/*
 * clear.c: the second half of "look, decide, clear".
 *
 * The pages of the given runs are armed, and no others: what was written to
 * them before is in the contents that the caller reads after this. [G1]
 */
#include "fork.h"
#include "hot.h"
#include "stretch.h"
#include "sys.h"

#include <errno.h>

#define WT_API __attribute__((visibility("default")))

/* As in collect.c: for so long a signal may have to wait. */
#define RUNS_PER_SECTION 64

/* There is nothing to clear in these. */
#define NOT_TRACKED (WTRACK_RUN_LOST | WTRACK_RUN_UNTRACKED)

static int clear_stretch(struct wtrack *t, const struct wt_stretch *x)
{
	bool policy = x->s.attr & WT_POLICY;
	int rc;

	if (!x->fresh)
		return policy ? wt_hot_clear(t, &x->s)
			      : wt_be(t)->arm(t, &x->s, 0);
	rc = policy ? wt_hot_initial(t, &x->s, 0) : wt_be(t)->arm(t, &x->s, 0);
	if (!rc)
		wt_stretch_cleared(x);
	return rc;
}

static int clear_run(struct wtrack *t, struct wt_feed *f,
		     const struct wtrack_run *run)
{
	uintptr_t at = run->start;
	struct wt_stretch x;
	int rc = 0;

	while (at < run->end && wt_next_stretch(t, f, at, run->end, &x)) {
		int one;

		x.s.mapped = true;
		one = clear_stretch(t, &x);
		rc = rc ? rc : one;
		at = x.s.end;
	}
	return rc;
}

static int check(const struct wtrack *t, const struct wtrack_run *runs,
		 size_t n)
{
	uintptr_t before = 0;

	if (!t || (n && !runs))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (runs[i].start < before || runs[i].start >= runs[i].end ||
		    ((runs[i].start | runs[i].end) & (wt_page_size() - 1)))
			return -EINVAL;
		before = runs[i].end;
	}
	return 0;
}

WT_API int wtrack_clear(struct wtrack *t, const struct wtrack_run *runs,
			size_t n)
{
	struct wt_section section;
	struct wt_feed f;
	int rc = check(t, runs, n);

	if (rc || !n)
		return rc;
	wt_fork_check();
	wt_handler_replaced(t);
	wt_hot_begin_call(t, runs[0].start);
	wt_feed_init(&f);
	for (size_t i = 0; i < n;) {
		size_t end =
			n - i > RUNS_PER_SECTION ? i + RUNS_PER_SECTION : n;

		wt_section_enter(&section);
		/* An unwatch may have come since: what is known is stale. */
		f.i = f.n = 0;
		for (; i < end; i++) {
			int one = runs[i].flags & NOT_TRACKED
					  ? 0
					  : clear_run(t, &f, &runs[i]);
			rc = rc ? rc : one;
		}
		wt_section_leave(&section);
	}
	wt_hot_end_call(t, runs[n - 1].end);
	return rc;
}
