/* SPDX-License-Identifier: MIT */
/*
 * unit_failing_mprotect.c: mprotect(2) fails while watching and collecting.
 *
 * What could not be protected stays dirty and says why, until it can.  [G3]
 */
#include "support.h"

#include "sys.h"

#include <string.h>
#include <sys/mman.h>

#define N 64

static int countdown; /* calls that still work */
static int failures;  /* calls that then fail */
static long error;

static bool fail_mprotect(enum wt_sys id, const long args[6], long *result)
{
	(void)args;
	if (id != WT_SYS_MPROTECT || countdown-- > 0 || failures-- <= 0)
		return false;
	*result = error;
	return true;
}

static void fail_after(int calls, int times)
{
	countdown = calls;
	failures = times;
	at_the_door(fail_mprotect);
}

static const long errors[] = { -ENOMEM, -EACCES, -EPERM, -EINVAL };

static void watch_returns_the_error_and_changes_nothing(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_pages(N);
	size_t page = page_size();
	struct state before;

	(void)state;
	/* Three mappings, so that a later one can fail. */
	mprotect(p + 20 * page, 4 * page, PROT_READ);
	before = state_of(t);
	for (size_t e = 0; e < 4; e++)
		for (int after = 0; after < 2; after++) {
			error = errors[e];
			fail_after(after, 1);
			assert_returns(error, wtrack_watch(t, p, N * page, 0));
			at_the_door(NULL);
			assert_state_is(t, &before);
			touch(p, 0);
			touch(p, N - 1);
			assert_int_equal(stats_of(t).faults, 0);
		}
	assert_int_equal(wtrack_watch(t, p, N * page, 0), 0);
	assert_clean(t);
	wtrack_close(t);
	unmap_pages(p, N);
}

static void unwatch_returns_the_error_and_tracks_on(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_watched(t, N);
	size_t page = page_size();

	(void)state;
	touch(p, 3);
	error = -ENOMEM;
	fail_after(0, 1000);
	assert_returns(-ENOMEM, wtrack_unwatch(t, p, N * page));
	at_the_door(NULL);
	assert_int_equal(stats_of(t).ranges, 1);
	assert_dirty_superset(t, p, PAGES(3));
	touch(p, 5);
	assert_dirty_superset(t, p, PAGES(3, 5));
	clear_all(t);
	touch(p, 7);
	assert_dirty(t, p, 7);
	assert_returns(0, wtrack_unwatch(t, p, N * page));
	touch(p, 8);
	assert_int_equal(collect_all(t, WTRACK_GET).n, 0);
	wtrack_close(t);
	unmap_pages(p, N);
}

/* Stores into what stayed writable make no fault: it must read dirty. */
static void what_cannot_be_protected_stays_dirty_and_says_so(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_watched(t, N);
	struct wtrack_run runs[N];

	(void)state;
	for (size_t e = 0; e < 4; e++) {
		touch(p, 3);
		touch(p, 40);
		error = errors[e];
		fail_after(0, 1000);
		assert_int_equal(wtrack_collect(t, NULL, runs, N,
						WTRACK_GET | WTRACK_CLEAR),
				 2);
		at_the_door(NULL);
		touch(p, 3);
		touch(p, 40);
		assert_dirty_superset(t, p, PAGES(3, 40));
		assert_true(flags_at(t, p + 3 * page_size()) &
			    WTRACK_RUN_DEGRADED);
		assert_true(stats_of(t).degraded > e);
		/* The next clearing tries again. */
		clear_all(t);
		assert_clean(t);
	}
	wtrack_close(t);
	unmap_pages(p, N);
}

static void an_initial_range_that_cannot_be_protected_stays_dirty(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_pages(N);
	struct wtrack_run run;

	(void)state;
	assert_int_equal(
		wtrack_watch(t, p, N * page_size(), WTRACK_WATCH_DIRTY), 0);
	error = -ENOMEM;
	fail_after(0, 1000);
	assert_int_equal(
		wtrack_collect(t, NULL, &run, 1, WTRACK_GET | WTRACK_CLEAR), 1);
	at_the_door(NULL);
	assert_true(run.flags & WTRACK_RUN_INITIAL);
	touch(p, 9);
	assert_dirty_superset(t, p, PAGES(9));
	clear_all(t);
	assert_clean(t);
	wtrack_close(t);
	unmap_pages(p, N);
}

/* The store's own page: its neighbours are tried, then the whole range. */
static void a_fault_gets_on_with_fewer_mappings(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_watched(t, N);

	(void)state;
	for (int failing = 1; failing <= 3; failing++) {
		struct wtrack_stats before = stats_of(t);

		touch(p, 30);
		error = -ENOMEM;
		fail_after(0, failing);
		touch(p, 32);
		touch(p, 40);
		at_the_door(NULL);
		assert_dirty_superset(t, p, PAGES(30, 32, 40));
		assert_true(stats_of(t).widened > before.widened);
		assert_true(flags_at(t, p + 32 * page_size()) &
			    WTRACK_RUN_DEGRADED);
		clear_all(t);
		assert_clean(t);
	}
	wtrack_close(t);
	unmap_pages(p, N);
}

static void mark_and_prepare_write_need_the_mappings_too(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_watched(t, N);

	(void)state;
	error = -ENOMEM;
	fail_after(0, 1);
	assert_returns(0, wtrack_mark(t, p + 9 * page_size(), 1));
	fail_after(0, 1);
	assert_returns(0, wtrack_prepare_write(t, p + 19 * page_size(), 1));
	at_the_door(NULL);
	assert_dirty_superset(t, p, PAGES(9, 19));
	clear_all(t);
	assert_clean(t);
	fail_after(0, 1000);
	assert_returns(-ENOMEM,
		       wtrack_prepare_write(t, p + 29 * page_size(), 1));
	at_the_door(NULL);
	touch(p, 29);
	touch(p, 2);
	assert_dirty_superset(t, p, PAGES(2, 29));
	wtrack_close(t);
	unmap_pages(p, N);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_IF(watch_returns_the_error_and_changes_nothing,
			lacks_mprotect),
		CASE_IF(unwatch_returns_the_error_and_tracks_on,
			lacks_mprotect),
		CASE_IF(what_cannot_be_protected_stays_dirty_and_says_so,
			lacks_mprotect),
		CASE_IF(an_initial_range_that_cannot_be_protected_stays_dirty,
			lacks_mprotect),
		CASE_IF(a_fault_gets_on_with_fewer_mappings, lacks_mprotect),
		CASE_IF(mark_and_prepare_write_need_the_mappings_too,
			lacks_mprotect),
	};

	return RUN_CASES("failing_mprotect", cases);
}
