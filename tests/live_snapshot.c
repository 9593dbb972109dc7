/* SPDX-License-Identifier: MIT */
/* live_snapshot.c: the stored answer of one epoch, and what it lacks memory
 * for. */
#include "support_live.h"

#include <errno.h>
#include <string.h>

static size_t count_pages(struct wtrack_snapshot *s)
{
	struct wtrack_run run;
	uintptr_t last = 0;
	size_t bytes = 0;

	wtrack_snapshot_rewind(s);
	while (wtrack_snapshot_next(s, &run) == 1) {
		assert_true(run.start >= last && run.start < run.end);
		assert_int_not_equal(run.flags, 0);
		last = run.end;
		bytes += run.end - run.start;
	}
	assert_int_equal(wtrack_snapshot_next(s, &run), 0);
	return bytes / page_size();
}

/* The pages with (page % step) == 0 are in it; no others if precise. */
static void expect_every(struct wtrack *t, struct wtrack_snapshot *s,
			 const struct mem *m, size_t step)
{
	for (size_t i = 0; i < m->pages; i++) {
		int has = wtrack_snapshot_contains(s, page_of(m, i) + 3);

		if (i % step == 0)
			assert_int_equal(has, 1);
		else if (is_precise(t))
			assert_int_equal(has, 0);
	}
	assert_int_equal(wtrack_snapshot_contains(s, m->base - 1), 0);
	assert_int_equal(wtrack_snapshot_contains(s, page_of(m, m->pages)), 0);
}

static void a_snapshot_holds_one_epoch(void **state)
{
	struct wtrack_snapshot *s = NULL;
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 60, true);

	watch_pages(t, &m, 0, 60, 0);
	for (size_t i = 0; i < 60; i += 3)
		store(&m, i);
	assert_int_equal(wtrack_snapshot(t, &s), 0);
	/* What comes after is not in it. */
	store(&m, 1);
	expect_every(t, s, &m, 3);
	assert_int_equal(count_pages(s), is_precise(t) ? 20 : 60);
	assert_int_equal(wtrack_snapshot_pages(s), count_pages(s));
	assert_int_equal(wtrack_snapshot_epoch(s), 0);
	expect_pages(t, &m, WTRACK_GET, 1);
	/* It outlives its handle. */
	wtrack_close(t);
	assert_true(wtrack_snapshot_contains(s, m.base));
	wtrack_snapshot_free(s);
	wtrack_snapshot_free(NULL);
	mem_unmap(&m);
}

static void a_snapshot_is_used_again(void **state)
{
	struct wtrack_snapshot *s = NULL, *first;
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 64, true);
	struct usage before, after;

	watch_pages(t, &m, 0, 64, 0);
	assert_int_equal(wtrack_snapshot(t, &s), 0);
	first = s;
	before = usage_now();
	for (size_t step = 1; step <= 64; step++) {
		for (size_t i = 0; i < 64; i += step)
			store(&m, i);
		assert_int_equal(wtrack_snapshot(t, &s), 0);
		assert_ptr_equal(s, first);
		expect_every(t, s, &m, step);
		assert_int_equal(wtrack_snapshot_epoch(s), step);
	}
	after = usage_now();
	/* A sanitizer maps memory for a monitor's thread when it likes. */
	if (!lacks_native_run() || strcmp(*state, "monitor") != 0)
		assert_int_equal(before.mapped_pages, after.mapped_pages);
	wtrack_snapshot_free(s);
	wtrack_close(t);
	mem_unmap(&m);
}

static void an_empty_snapshot_is_empty(void **state)
{
	struct wtrack_snapshot *s = NULL;
	struct wtrack *t = open_on(*state);
	struct wtrack_run run;

	assert_int_equal(wtrack_snapshot(t, &s), 0);
	assert_int_equal(wtrack_snapshot_next(s, &run), 0);
	assert_int_equal(wtrack_snapshot_pages(s), 0);
	assert_int_equal(wtrack_snapshot_contains(s, &run), 0);
	assert_int_equal(wtrack_snapshot_next(s, NULL), -EINVAL);
	assert_int_equal(wtrack_snapshot_next(NULL, &run), -EINVAL);
	assert_int_equal(wtrack_snapshot_contains(NULL, &run), 0);
	assert_int_equal(wtrack_snapshot_pages(NULL), 0);
	wtrack_snapshot_free(s);
	wtrack_close(t);
}

/* More runs than it has room for at first: it grows, several times. */
static void many_runs_fit(void **state)
{
	struct wtrack_snapshot *s = NULL;
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 20000, true);

	watch_pages(t, &m, 0, m.pages, 0);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < m.pages; i += 2)
			store(&m, i);
		assert_int_equal(wtrack_snapshot(t, &s), 0);
		expect_every(t, s, &m, 2);
		assert_int_equal(wtrack_snapshot_pages(s),
				 is_precise(t) ? m.pages / 2 : m.pages);
	}
	assert_int_equal(wtrack_snapshot(t, &s), 0);
	if (is_precise(t))
		assert_int_equal(wtrack_snapshot_pages(s), 0);
	wtrack_snapshot_free(s);
	wtrack_close(t);
	mem_unmap(&m);
}

/* The last run, which stands for all that found no room. */
static struct wtrack_run last_run(struct wtrack_snapshot *s)
{
	struct wtrack_run run = { 0, 0, 0 };

	wtrack_snapshot_rewind(s);
	while (wtrack_snapshot_next(s, &run) == 1)
		;
	return run;
}

/* [G1] [G3] */
static void without_memory_the_rest_is_one_marked_run(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 6000, true);

	watch_pages(t, &m, 0, m.pages, 0);
	for (int good = 0; good < 3; good++) {
		struct wtrack_snapshot *s = NULL;

		for (size_t i = 0; i < m.pages; i += 2)
			store(&m, i);
		fail_entry(WT_SYS_MREMAP, 1 + good, 1 << 20, -ENOMEM);
		assert_int_equal(wtrack_snapshot(t, &s), 0);
		fail_no_more();
		for (size_t i = 0; i < m.pages; i += 2)
			assert_true(
				wtrack_snapshot_contains(s, page_of(&m, i)));
		assert_int_equal(count_pages(s), wtrack_snapshot_pages(s));
		if (good < 2) {
			assert_true(last_run(s).flags & WTRACK_RUN_DEGRADED);
			assert_true(last_run(s).flags & WTRACK_RUN_WRITTEN);
			assert_true(stats_of(t).degraded > 0);
		}
		/* All of it was cleared, and nothing else came of it. */
		assert_int_equal(wtrack_snapshot(t, &s), 0);
		assert_int_equal(wtrack_snapshot_pages(s), 0);
		store(&m, 17);
		assert_int_equal(wtrack_snapshot(t, &s), 0);
		assert_int_equal(wtrack_snapshot_pages(s), 1);
		wtrack_snapshot_free(s);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* What is behind the full array keeps its reasons: initial here. */
static void the_marked_run_has_the_flags_of_all_it_stands_for(void **state)
{
	struct wtrack_snapshot *s = NULL;
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 4096, true);

	watch_pages(t, &m, 0, 3000, 0);
	watch_pages(t, &m, 3500, 500, WTRACK_WATCH_DIRTY);
	for (size_t i = 0; i < 3000; i += 2)
		store(&m, i);
	fail_entry(WT_SYS_MREMAP, 1, 1 << 20, -ENOMEM);
	assert_int_equal(wtrack_snapshot(t, &s), 0);
	fail_no_more();
	assert_true(wtrack_snapshot_contains(s, page_of(&m, 3999)));
	assert_int_equal(last_run(s).flags, WTRACK_RUN_DEGRADED |
						    WTRACK_RUN_WRITTEN |
						    WTRACK_RUN_INITIAL);
	wtrack_snapshot_free(s);
	wtrack_close(t);
	mem_unmap(&m);
}

static void without_memory_for_the_object_nothing_is_consumed(void **state)
{
	struct wtrack_snapshot *s = NULL;
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 8, true);

	watch_pages(t, &m, 0, 8, 0);
	store(&m, 2);
	for (int nth = 1; nth <= 2; nth++) {
		fail_entry(WT_SYS_MMAP, nth, 1, -ENOMEM);
		assert_int_equal(wtrack_snapshot(t, &s), -ENOMEM);
		fail_no_more();
		assert_null(s);
	}
	expect_pages(t, &m, WTRACK_GET | WTRACK_CLEAR, 2);
	wtrack_close(t);
	mem_unmap(&m);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(a_snapshot_holds_one_epoch),
		CASE_EACH(a_snapshot_is_used_again),
		CASE_EACH(an_empty_snapshot_is_empty),
		CASE_EACH(many_runs_fit),
		CASE_NEEDS(without_memory_the_rest_is_one_marked_run,
			   WTRACK_CAP_PRECISE),
		CASE_NEEDS(the_marked_run_has_the_flags_of_all_it_stands_for,
			   WTRACK_CAP_PRECISE),
		CASE_EACH(without_memory_for_the_object_nothing_is_consumed),
	};

	return RUN_CASES("snapshot", cases);
}
