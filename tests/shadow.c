/* SPDX-License-Identifier: MIT */
/* shadow.c: compares what is reported with the shadow of each page. */
#include "shadow.h"

static void fail_model(const struct model *s, size_t i, const char *what,
		       uint64_t flags)
{
	const struct shadow *p = &s->page[i];

	fail_msg("page %zu (watched %d written %d maybe %d initial %d lost %d "
		 "policy %d kept %d soft %d lazy %d zero %d %d) %s, flags "
		 "%#llx, after %s on %s",
		 i, p->watched, p->written, p->maybe, p->initial, p->lost,
		 p->policy, p->kept, p->soft, p->lazy, p->zero, p->was_zero,
		 what, (unsigned long long)flags, s->last,
		 mem_kind_name(s->kind));
}

size_t shadow_part(struct model *s, size_t *n)
{
	size_t first = roll(&s->dice, PAGES_N);
	size_t most = roll(&s->dice, 4) ? 8 : PAGES_N;

	*n = 1 + roll(&s->dice, most);
	if (*n > PAGES_N - first)
		*n = PAGES_N - first;
	return first;
}

bool shadow_all_watched(const struct model *s, size_t first, size_t n, bool is)
{
	for (size_t i = first; i < first + n; i++)
		if (s->page[i].watched != is)
			return false;
	return true;
}

bool shadow_all_tracked(const struct model *s, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		if (!s->page[i].watched || s->page[i].lost)
			return false;
	return true;
}

void shadow_written(struct shadow *p)
{
	p->written = true;
	p->zero = p->gone = false;
}

/* What is left un-armed is found to be lost when it is armed. */
static void check_lost(const struct model *s, size_t i, uint64_t flags)
{
	const struct shadow *p = &s->page[i];
	uint64_t told = WTRACK_RUN_LOST | WTRACK_RUN_DEGRADED;

	if (p->soft)
		told |= WTRACK_RUN_PRESUMED | WTRACK_RUN_WRITTEN;
	if (p->unsure)
		told |= WTRACK_RUN_INITIAL;
	/* A dirty page needs no protection: mprotect goes on with another. */
	if (p->lost && !(flags & told) &&
	    (!flags || (s->caps & WTRACK_CAP_PROTECT)))
		fail_model(s, i, "was not reported as lost", flags);
}

void shadow_check(const struct model *s, size_t i, uint64_t flags)
{
	const struct shadow *p = &s->page[i];
	bool failed = flags & (WTRACK_RUN_LOST | WTRACK_RUN_DEGRADED);

	if (!p->watched && flags)
		fail_model(s, i, "is not watched but reported", flags);
	if (!p->watched)
		return;
	if ((p->written || p->initial || (p->kept && !p->gone && !p->lost)) &&
	    !flags)
		fail_model(s, i, "was not reported", flags);
	if (!(s->caps & WTRACK_CAP_PRECISE))
		return;
	check_lost(s, i, flags);
	if ((flags & WTRACK_RUN_INITIAL) && !p->initial && !p->unsure)
		fail_model(s, i, "was reported as initial", flags);
	if (p->initial && !p->lost && !(flags & ~(uint64_t)WTRACK_RUN_WRITTEN))
		fail_model(s, i, "was not reported as initial", flags);
	if (!p->written && !p->maybe && flags == WTRACK_RUN_WRITTEN)
		fail_model(s, i, "was reported as written", flags);
	/* [K-soft-discard] What was dropped reads clean, and is hot still. */
	if (!p->soft && !p->lazy && !failed && !s->lossy &&
	    !runs_on("softdirty") && (flags & WTRACK_RUN_PRESUMED))
		fail_model(s, i, "was reported as presumed", flags);
}

/* What could not be armed, itself or with what lies beside it, stays dirty. */
void shadow_cleared(const struct model *s, struct shadow *p, uint64_t flags)
{
	bool again = s->caps & WTRACK_CAP_PROTECT;
	bool failed = flags & (WTRACK_RUN_LOST | WTRACK_RUN_DEGRADED);

	p->unsure |= p->initial;
	p->written = p->initial = false;
	p->maybe = failed;
	p->was_zero = p->zero;
	p->soft = p->policy || p->kept || failed;
	/* What is mapped again is armed again where that needs no register. */
	p->lost = p->lost && again;
}

static void see(const struct model *s, uint64_t *seen,
		const struct wtrack_run *run)
{
	for (uintptr_t a = run->start; a < run->end; a += s->m.page)
		seen[(a - (uintptr_t)s->m.base) / s->m.page] |= run->flags;
}

void shadow_look(struct model *s, size_t first, size_t end, size_t nruns,
		 size_t calls, unsigned flags)
{
	struct wtrack_cursor at = { .next = (uintptr_t)page_of(&s->m, first),
				    .end = (uintptr_t)page_of(&s->m, end) };
	uint64_t seen[PAGES_N] = { 0 };
	struct wtrack_run runs[128];
	size_t reached;

	/* A pass is of the whole handle, and without a bound. */
	if (!first && end == PAGES_N)
		at.next = at.end = 0;
	for (ssize_t n = (ssize_t)nruns; (size_t)n == nruns && calls; calls--) {
		n = wtrack_collect(s->t, &at, runs, nruns, flags);
		assert_true(n >= 0 && (size_t)n <= nruns);
		for (ssize_t r = 0; r < n; r++)
			see(s, seen, &runs[r]);
	}
	reached = at.next > (uintptr_t)page_of(&s->m, end)
			  ? end
			  : (at.next - (uintptr_t)s->m.base) / s->m.page;
	for (size_t i = first; i < end; i++) {
		if (i < reached)
			shadow_check(s, i, seen[i]);
		else
			assert_int_equal(seen[i], 0);
		if (i < reached && (flags & WTRACK_CLEAR))
			shadow_cleared(s, &s->page[i], seen[i]);
	}
}

void shadow_sure(struct model *s)
{
	/* But for what could not be armed. */
	for (size_t i = 0; i < PAGES_N; i++)
		s->page[i].unsure &= s->page[i].maybe;
}
