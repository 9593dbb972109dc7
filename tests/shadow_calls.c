/* SPDX-License-Identifier: MIT */
/* shadow_calls.c: calls of the library, and what they do to the shadow. */
#include "shadow.h"

void op_watch(struct model *s)
{
	size_t n, first = shadow_part(s, &n);
	unsigned flags = roll(&s->dice, 3) ? 0 : WTRACK_WATCH_DIRTY;

	if (!shadow_all_watched(s, first, n, false))
		return;
	watch_pages(s->t, &s->m, first, n, flags);
	for (size_t i = first; i < first + n; i++)
		s->page[i] = (struct shadow){ .watched = true,
					      .initial = flags != 0,
					      .policy = s->policy,
					      .soft = s->policy,
					      .lazy = s->policy,
					      .zero = s->page[i].zero,
					      .gone = s->page[i].gone,
					      .was_zero = s->page[i].zero };
}

void op_unwatch(struct model *s)
{
	size_t n, first = shadow_part(s, &n);

	if (!shadow_all_watched(s, first, n, true))
		return;
	unwatch_pages(s->t, &s->m, first, n);
	for (size_t i = first; i < first + n; i++)
		s->page[i].watched = false;
}

/* A part whose pages are all tracked, of whole grains; false if it is not. */
static bool tracked_part(struct model *s, size_t *first, size_t *n)
{
	size_t before = (uintptr_t)s->m.base / s->m.page % s->grain, end;

	*first = shadow_part(s, n) + before;
	end = (*first + *n + s->grain - 1) / s->grain * s->grain - before;
	*first = *first / s->grain * s->grain;
	*first = *first < before ? 0 : *first - before;
	*n = (end < PAGES_N ? end : PAGES_N) - *first;
	return shadow_all_tracked(s, *first, *n);
}

void op_mark(struct model *s)
{
	size_t n, first;

	if (!tracked_part(s, &first, &n))
		return;
	assert_int_equal(
		wtrack_mark(s->t, page_of(&s->m, first), n * s->m.page), 0);
	for (size_t i = first; i < first + n; i++)
		s->page[i].written = true;
}

/* ---- looking ---- */

void op_look(struct model *s)
{
	size_t n, first = shadow_part(s, &n);

	shadow_look(s, first, first + n, 128, 100, WTRACK_GET);
}

/* Nobody writes meanwhile: whoever says so must not get less. */
static unsigned both(struct model *s)
{
	return BOTH | (roll(&s->dice, 2) ? WTRACK_STOPPED : 0);
}

void op_collect(struct model *s)
{
	size_t n, first = shadow_part(s, &n);

	shadow_look(s, first, first + n, 1 + roll(&s->dice, 5),
		    1 + roll(&s->dice, 6), both(s));
}

void op_collect_all(struct model *s)
{
	shadow_look(s, 0, PAGES_N, 128, 100, both(s));
	shadow_sure(s);
}

void op_snapshot(struct model *s)
{
	struct wtrack_snapshot *snapshot = NULL;
	struct wtrack_run run;
	uint64_t seen[PAGES_N] = { 0 };

	assert_int_equal(wtrack_snapshot(s->t, &snapshot), 0);
	while (wtrack_snapshot_next(snapshot, &run) > 0)
		for (uintptr_t a = run.start; a < run.end; a += s->m.page)
			seen[(a - (uintptr_t)s->m.base) / s->m.page] =
				run.flags;
	for (size_t i = 0; i < PAGES_N; i++) {
		assert_int_equal(
			wtrack_snapshot_contains(snapshot, page_of(&s->m, i)),
			seen[i] != 0);
		shadow_check(s, i, seen[i]);
		shadow_cleared(s, &s->page[i], seen[i]);
	}
	wtrack_snapshot_free(snapshot);
	shadow_sure(s);
}

/* Enough for pages to become hot, to be re-checked, and to turn cold then. */
void op_epochs(struct model *s)
{
	size_t n = 1 + roll(&s->dice, 12), idle = roll(&s->dice, n + 1);

	for (size_t i = 0; i < n; i++) {
		if (i != idle)
			op_store_hot(s);
		op_collect_all(s);
	}
}

/* ---- clearing what was looked at ---- */

static bool any_lost(const struct model *s)
{
	for (size_t i = 0; i < PAGES_N; i++)
		if (s->page[i].lost)
			return true;
	return false;
}

/*
 * What is passed over stays as it was; what cannot be made clean, too, and
 * whatever is armed with it.
 */
static void clear_run(struct model *s, const struct wtrack_run *run, bool some)
{
	size_t i = (run->start - (uintptr_t)s->m.base) / s->m.page;

	if (run->flags & (WTRACK_RUN_LOST | WTRACK_RUN_UNTRACKED))
		return;
	for (; page_of(&s->m, i) < (char *)run->end; i++)
		shadow_cleared(s, &s->page[i],
			       some ? WTRACK_RUN_DEGRADED : run->flags);
}

/* All that a look reports, or some runs of it. */
void op_clear(struct model *s)
{
	struct wtrack_run runs[128];
	ssize_t n = wtrack_collect(s->t, NULL, runs, 128, WTRACK_GET);
	size_t kept = 0, one_in = roll(&s->dice, 3);
	int rc;

	assert_in_range(n, 0, 127);
	for (ssize_t i = 0; i < n; i++)
		if (!one_in || !roll(&s->dice, one_in + 1))
			runs[kept++] = runs[i];
	rc = wtrack_clear(s->t, runs, kept);
	if (rc != -ENOENT || !any_lost(s))
		assert_int_equal(rc, 0);
	for (size_t i = 0; i < kept; i++)
		clear_run(s, &runs[i], rc != 0);
}

/* ---- policies and advice ---- */

static void policy_set(struct shadow *p, bool policy)
{
	p->policy = policy;
	p->soft |= policy;
}

void op_set_policy(struct model *s)
{
	static const struct wtrack_policy exact =
		WTRACK_POLICY_INIT(WTRACK_POLICY_EXACT);
	size_t n, first = shadow_part(s, &n);
	bool is = roll(&s->dice, 3), all = !roll(&s->dice, 8);
	bool watched = all || shadow_all_watched(s, first, n, true);
	int rc = wtrack_set_policy(s->t, all ? NULL : page_of(&s->m, first),
				   all ? 0 : n * s->m.page,
				   is ? s->other : &exact);

	assert_int_equal(rc, watched ? 0 : -ENOENT);
	if (rc)
		return;
	if (all)
		s->policy = is;
	for (size_t i = 0; i < PAGES_N; i++)
		if (s->page[i].watched &&
		    (all || (i >= first && i < first + n)))
			policy_set(&s->page[i], is);
}

static void advise(struct model *s, size_t first, size_t n, int advice)
{
	assert_int_equal(wtrack_advise(s->t, page_of(&s->m, first),
				       n * s->m.page, advice),
			 0);
}

void op_advise_writes(struct model *s)
{
	size_t n, first;

	if (!tracked_part(s, &first, &n))
		return;
	advise(s, first, n, WTRACK_ADVISE_WRITES);
	for (size_t i = first; i < first + n; i++)
		s->page[i].kept = s->page[i].soft = true;
}

/* What was written before is forgotten. */
void op_advise_arm(struct model *s)
{
	size_t n, first;

	if (!tracked_part(s, &first, &n))
		return;
	advise(s, first, n, WTRACK_ADVISE_ARM);
	for (size_t i = first; i < first + n; i++) {
		s->page[i].kept = false;
		shadow_cleared(s, &s->page[i], 0);
	}
}

/* What was left un-armed is dirty until it is cleared. */
void op_advise_normal(struct model *s)
{
	size_t n, first;

	if (!tracked_part(s, &first, &n))
		return;
	advise(s, first, n, WTRACK_ADVISE_NORMAL);
	for (size_t i = first; i < first + n; i++) {
		s->page[i].written |= s->page[i].kept;
		s->page[i].kept = false;
	}
}
