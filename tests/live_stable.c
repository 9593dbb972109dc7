/* SPDX-License-Identifier: MIT */
/*
 * live_stable.c: memory that the program promises to leave as it is is
 * collected in the time of what is dirty.
 */
#include "support_live.h"

#include <string.h>
#include <sys/mman.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

static void stores_are_reported_until_cleared(void **state)
{
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		struct wtrack *t = open_on(*state);
		struct mem m;

		if (mem_kind_lacks((enum mem_kind)kind) ||
		    !watches_kind(t, (enum mem_kind)kind)) {
			wtrack_close(t);
			continue;
		}
		m = mem_map((enum mem_kind)kind, 4, false);
		watch_pages(t, &m, 0, 4, WTRACK_WATCH_STABLE);
		expect_none(t, &m);
		store(&m, 1);
		store(&m, 3);
		expect_pages(t, &m, WTRACK_GET, 1, 3);
		expect_pages(t, &m, BOTH, 1, 3);
		expect_none(t, &m);
		store(&m, 1);
		expect_pages(t, &m, BOTH, 1);
		wtrack_close(t);
		mem_unmap(&m);
	}
}

static void a_range_watched_dirty_is_initial(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 8, true);
	struct view v;

	watch_pages(t, &m, 0, 8, WTRACK_WATCH_STABLE | WTRACK_WATCH_DIRTY);
	view_collect(&v, t, &m, 64, BOTH);
	if (is_precise(t))
		assert_int_equal(v.flags[7], WTRACK_RUN_INITIAL);
	expect_none(t, &m);
	store(&m, 6);
	expect_pages(t, &m, BOTH, 6);
	wtrack_close(t);
	mem_unmap(&m);
}

/* The promise allows to discard what is marked. */
static void what_is_marked_may_be_discarded(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 8, true);

	watch_pages(t, &m, 0, 8, WTRACK_WATCH_STABLE);
	assert_int_equal(madvise(page_of(&m, 2), 2 * m.page, MADV_DONTNEED), 0);
	assert_int_equal(wtrack_mark(t, page_of(&m, 2), 2 * m.page), 0);
	store(&m, 3);
	expect_pages(t, &m, BOTH, 2, 3);
	expect_none(t, &m);
	store(&m, 3);
	expect_pages(t, &m, BOTH, 3);
	wtrack_close(t);
	mem_unmap(&m);
}

static uint64_t calls_of(struct wtrack *t, struct view *v, const struct mem *m,
			 unsigned flags)
{
	uint64_t before = stats_of(t).kernel_calls;

	view_collect(v, t, m, 64, flags);
	return stats_of(t).kernel_calls - before;
}

/* Whatever is watched: a look costs nothing, a clearing a call for each run. */
static void a_collection_costs_what_is_dirty(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, VIEW_PAGES, true);
	bool scans = !strcmp(*state, "scan") || !strcmp(*state, "async") ||
		     !strcmp(*state, "softdirty");
	struct view v;

	watch_pages(t, &m, 0, m.pages, WTRACK_WATCH_STABLE);
	if (is_precise(t) && !scans) {
		for (size_t i = 0; i < 8; i++)
			store(&m, i * 200);
		assert_int_equal(calls_of(t, &v, &m, WTRACK_GET), 0);
		assert_int_equal(v.runs, 8);
		assert_int_equal(calls_of(t, &v, &m, BOTH), 8);
		assert_int_equal(v.runs, 8);
		assert_int_equal(calls_of(t, &v, &m, BOTH), 0);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* Not joined with a neighbour that made no promise. */
static void a_neighbour_may_be_discarded(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 8, true);

	watch_pages(t, &m, 0, 4, 0);
	watch_pages(t, &m, 4, 4, WTRACK_WATCH_STABLE);
	madvise(page_of(&m, 1), m.page, MADV_DONTNEED);
	store(&m, 1);
	store(&m, 5);
	expect_pages(t, &m, BOTH, 1, 5);
	unwatch_pages(t, &m, 2, 4);
	store(&m, 0);
	store(&m, 3);
	store(&m, 5);
	store(&m, 6);
	expect_pages(t, &m, BOTH, 0, 6);
	wtrack_close(t);
	mem_unmap(&m);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(stores_are_reported_until_cleared),
		CASE_EACH(a_range_watched_dirty_is_initial),
		CASE_EACH(what_is_marked_may_be_discarded),
		CASE_EACH(a_collection_costs_what_is_dirty),
		CASE_EACH(a_neighbour_may_be_discarded),
	};

	return RUN_CASES("stable", cases);
}
