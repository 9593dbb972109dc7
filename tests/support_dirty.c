/* SPDX-License-Identifier: MIT */
/* support_dirty.c: collects everything, and asserts what is dirty. */
#include "support.h"

#include <string.h>
#include <sys/types.h>

/* More than any case has. */
#define MOST_RUNS 65536

static struct wtrack_run runs[MOST_RUNS];

static void check_runs(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_true(runs[i].start < runs[i].end);
		assert_int_equal(runs[i].start % page_size(), 0);
		assert_int_equal(runs[i].end % page_size(), 0);
		assert_int_not_equal(runs[i].flags, 0);
		if (i && runs[i - 1].end == runs[i].start)
			assert_int_not_equal(runs[i - 1].flags, runs[i].flags);
		else if (i)
			assert_true(runs[i - 1].end < runs[i].start);
	}
}

struct run_list collect_all(struct wtrack *t, unsigned flags)
{
	ssize_t n = wtrack_collect(t, NULL, runs, MOST_RUNS, flags);
	struct run_list list = { runs, (size_t)n };

	assert_true(n >= 0 && n < MOST_RUNS);
	check_runs((size_t)n);
	return list;
}

void clear_all(struct wtrack *t)
{
	assert_int_equal(wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR), 0);
}

uint64_t flags_at(struct wtrack *t, const void *addr)
{
	struct run_list l = collect_all(t, WTRACK_GET);

	for (size_t i = 0; i < l.n; i++)
		if (l.at[i].start <= (uintptr_t)addr &&
		    (uintptr_t)addr < l.at[i].end)
			return l.at[i].flags;
	return 0;
}

bool is_dirty(struct wtrack *t, const void *addr)
{
	return flags_at(t, addr) != 0;
}

static bool listed(const size_t *pages, size_t n, size_t page)
{
	for (size_t i = 0; i < n; i++)
		if (pages[i] == page)
			return true;
	return false;
}

static void assert_reported(struct run_list l, const char *base, size_t page)
{
	uintptr_t addr = (uintptr_t)base + page * page_size();

	for (size_t i = 0; i < l.n; i++)
		if (l.at[i].start <= addr && addr < l.at[i].end)
			return;
	fail_msg("page %zu was written and is not reported", page);
}

static void assert_none_but(struct run_list l, const char *base,
			    const size_t *pages, size_t n)
{
	for (size_t i = 0; i < l.n; i++) {
		size_t page = (l.at[i].start - (uintptr_t)base) / page_size();
		size_t end = (l.at[i].end - (uintptr_t)base) / page_size();

		if (!(l.at[i].flags & WTRACK_RUN_WRITTEN))
			fail_msg("page %zu: flags %#lx", page,
				 (unsigned long)l.at[i].flags);
		for (; page < end; page++)
			if (!listed(pages, n, page))
				fail_msg("page %zd was not written",
					 (ssize_t)page);
	}
}

void assert_dirty_superset(struct wtrack *t, const char *base,
			   const size_t *pages, size_t n)
{
	struct run_list l = collect_all(t, WTRACK_GET);

	for (size_t i = 0; i < n; i++)
		assert_reported(l, base, pages[i]);
}

void assert_dirty_exactly(struct wtrack *t, const char *base,
			  const size_t *pages, size_t n)
{
	bool precise = caps_of(t) & WTRACK_CAP_PRECISE;
	struct run_list l;

	assert_dirty_superset(t, base, pages, n);
	l = collect_all(t, WTRACK_GET);
	if (precise)
		assert_none_but(l, base, pages, n);
	for (size_t i = 0; !precise && i < l.n; i++)
		assert_true(l.at[i].flags & WTRACK_RUN_UNTRACKED);
}

void assert_clean(struct wtrack *t)
{
	assert_dirty_exactly(t, NULL, NULL, 0);
}

struct state state_of(struct wtrack *t)
{
	struct wtrack_info info = { .size = sizeof(info) };
	struct wtrack_stats stats = stats_of(t);
	struct run_list l = collect_all(t, WTRACK_GET);
	struct state s;

	memset(&s, 0, sizeof(s));
	assert_int_equal(wtrack_info(t, &info), 0);
	s.caps = info.caps;
	s.epoch = info.epoch;
	s.ranges = stats.ranges;
	s.watched_bytes = stats.watched_bytes;
	s.n = l.n;
	assert_true(l.n <= sizeof(s.runs) / sizeof(s.runs[0]));
	memcpy(s.runs, l.at, l.n * sizeof(l.at[0]));
	return s;
}

void assert_state_is(struct wtrack *t, const struct state *before)
{
	struct state now = state_of(t);

	assert_memory_equal(&now, before, sizeof(now));
}
