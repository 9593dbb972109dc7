/* SPDX-License-Identifier: MIT */
/*
 * unit_no_memory.c: the n-th mapping fails, for each n until all succeed.
 *
 * Every call then returns -ENOMEM or does its work, leaks nothing, and changes
 * nothing if it failed.  [G3]
 */
#include "support.h"

#include "sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

static int countdown; /* mappings that still succeed */
static bool failed;

static bool fail_nth(enum wt_sys id, const long args[6], long *result)
{
	(void)args;
	if ((id != WT_SYS_MMAP && id != WT_SYS_MREMAP) || countdown-- > 0)
		return false;
	failed = true;
	*result = -ENOMEM;
	return true;
}

/* From now on `n` mappings succeed. */
static void start_failing(int n)
{
	countdown = n;
	failed = false;
	at_the_door(fail_nth);
}

static bool stop_failing(void)
{
	at_the_door(NULL);
	return failed;
}

static void assert_same_usage(struct usage before)
{
	struct usage now = usage_now();

	assert_int_equal(now.fds, before.fds);
	/* A sanitizer maps memory for a monitor's thread when it likes. */
	if (!lacks_native_run())
		assert_int_equal(now.mapped_pages, before.mapped_pages);
}

static int try_open(const char *backend, struct wtrack **t)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;

	options.backend = backend;
	return wtrack_open(&options, t);
}

static void open_survives_each_failed_mapping(void **state)
{
	struct wtrack *t = open_on(*state);
	struct usage before;
	int rc = -ENOMEM;

	wtrack_close(t); /* what stays for the life of the process is there */
	before = usage_now();
	for (int n = 0; rc; n++) {
		bool met;

		t = NULL;
		start_failing(n);
		errno = 1234;
		rc = try_open(*state, &t);
		assert_int_equal(errno, 1234);
		met = stop_failing();
		assert_int_equal(rc, met ? -ENOMEM : 0);
		assert_int_equal(t != NULL, !rc);
		if (rc)
			assert_same_usage(before);
		assert_true(n < 100);
	}
	wtrack_close(t);
	assert_same_usage(before);
}

/* ---- the first open of a process ---- */

/*
 * A shortage while a backend is tried says nothing about the backend: later,
 * with memory, it works.  Exit status: 1 wrong, 2 nothing failed any more.
 */
static int first_open(const char *backend, int n)
{
	struct usage before = usage_now();
	struct wtrack *t = NULL;
	int rc;

	start_failing(n);
	rc = try_open(backend, &t);
	if (!stop_failing())
		return rc ? 1 : 2;
	/* What every later open uses may stay, and a thread's stack in libc. */
	if (rc != -ENOMEM || t || usage_now().fds != before.fds ||
	    usage_now().mapped_pages > before.mapped_pages + 128)
		return 1;
	rc = try_open(backend, &t);
	wtrack_close(t);
	return rc ? 1 : 0;
}

static void the_first_open_survives_each_failed_mapping(void **state)
{
	int status = 0;

	for (int n = 0; WEXITSTATUS(status) != 2; n++) {
		char scenario[32];

		snprintf(scenario, sizeof(scenario), "%d%s", n,
			 (const char *)*state);
		status = run_self(scenario);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 2)
			fail_msg("mapping %d of the first open", n);
	}
}

/* ---- open, watch and unwatch ---- */

/* Many mappings of other protection, so that one call makes many ranges. */
#define STRIPES 400

/* Far from all that was watched before, for what is kept by area. */
static char *map_stripes(int n)
{
	uintptr_t far = (uintptr_t)(n % 12 + 1) << 43;
	char *p =
		mmap((void *)far, STRIPES * page_size(), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	for (size_t i = 0; i < STRIPES; i += 2)
		mprotect(p + i * page_size(), page_size(), PROT_READ);
	return p;
}

static void watch_survives_each_failed_mapping(void **state)
{
	size_t len = STRIPES * page_size();
	int rc = -ENOMEM;

	for (int n = 0; rc; n++) {
		struct wtrack *t = open_on(*state);
		char *p = map_stripes(n);
		struct state before = state_of(t);
		bool met;

		start_failing(n);
		errno = 1234;
		rc = wtrack_watch(t, p, len, 0);
		assert_int_equal(errno, 1234);
		met = stop_failing();
		assert_int_equal(rc, met ? -ENOMEM : 0);
		if (rc) {
			assert_state_is(t, &before);
			/* Not left armed: no handle, no fault to handle. */
			touch(p, 1);
			assert_int_equal(stats_of(t).faults, 0);
			assert_int_equal(wtrack_watch(t, p, len, 0), 0);
		}
		touch(p, 1);
		assert_dirty(t, p, 1);
		wtrack_close(t);
		unmap_pages(p, STRIPES);
		assert_true(n < 100);
	}
}

static void open_and_watch_give_all_memory_back(void **state)
{
	char *p = map_stripes(0);
	size_t len = STRIPES * page_size();
	struct usage before;

	for (int i = 0; i < 3; i++) {
		struct wtrack *t = open_on(*state);

		assert_int_equal(wtrack_watch(t, p, len, 0), 0);
		wtrack_close(t);
		if (i)
			assert_same_usage(before);
		before = usage_now();
	}
	unmap_pages(p, STRIPES);
}

static void unwatch_survives_each_failed_mapping(void **state)
{
	size_t page = page_size();
	int rc = -ENOMEM;

	for (int n = 0; rc; n++) {
		struct wtrack *t = open_on(*state);
		char *p = map_watched(t, 8);
		struct state before;
		bool met;

		touch(p, 1);
		before = state_of(t);
		start_failing(n);
		rc = wtrack_unwatch(t, p + 3 * page, page);
		met = stop_failing();
		assert_int_equal(rc, met ? -ENOMEM : 0);
		if (rc)
			assert_state_is(t, &before);
		assert_int_equal(wtrack_query(t, p + 3 * page, NULL),
				 rc ? 0 : -ENOENT);
		wtrack_close(t);
		unmap_pages(p, 8);
		assert_true(n < 100);
	}
}

/* ---- snapshots ---- */

static void a_snapshot_without_memory_consumes_nothing(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 8);
	struct state before;
	struct usage usage;

	touch(p, 1);
	before = state_of(t);
	usage = usage_now();
	for (int n = 0; n < 2; n++) {
		struct wtrack_snapshot *s = NULL;

		start_failing(n);
		assert_returns(-ENOMEM, wtrack_snapshot(t, &s));
		assert_true(stop_failing());
		assert_null(s);
		assert_state_is(t, &before);
		assert_same_usage(usage);
	}
	wtrack_close(t);
	unmap_pages(p, 8);
}

static void assert_snapshot_has(struct wtrack_snapshot *s, char *p, size_t step)
{
	struct wtrack_run run, last = { 0, 0, 0 };
	size_t pages = 0;

	for (size_t i = 0; i < 8000; i += step)
		assert_int_equal(
			wtrack_snapshot_contains(s, p + i * page_size() + 7),
			1);
	wtrack_snapshot_rewind(s);
	while (wtrack_snapshot_next(s, &run)) {
		assert_true(run.start >= last.end && run.end > run.start);
		pages += (run.end - run.start) / page_size();
		last = run;
	}
	assert_int_equal(wtrack_snapshot_pages(s), pages);
	/* Only the run that had to be stretched says so. */
	assert_true(last.flags & WTRACK_RUN_DEGRADED);
}

static void touch_every_second(char *p)
{
	for (size_t i = 0; i < 8000; i += 2)
		touch(p, i);
}

/*
 * [G3] The rest becomes one run that says that it is too wide, whichever of the
 * mappings behind the object and its first array fails.
 */
static void a_snapshot_that_cannot_grow_is_a_marked_superset(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 8000);
	bool met = true;
	int n;

	for (n = 2; met; n++) {
		struct wtrack_snapshot *s = NULL;

		touch_every_second(p);
		start_failing(n);
		assert_int_equal(wtrack_snapshot(t, &s), 0);
		met = stop_failing();
		if (met)
			assert_snapshot_has(s, p, 2);
		assert_clean(t);
		assert_int_equal(stats_of(t).degraded > 0, met || n > 2);
		/* With memory again, the same object gets all of it exactly. */
		touch_every_second(p);
		assert_int_equal(wtrack_snapshot(t, &s), 0);
		assert_int_equal(wtrack_snapshot_pages(s), 4000);
		wtrack_snapshot_free(s);
	}
	/* It did grow more than once. */
	assert_true(n > 4);
	wtrack_close(t);
	unmap_pages(p, 8000);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_NEEDS_IF(the_first_open_survives_each_failed_mapping, 0,
			      lacks_untouched_threads),
		CASE_EACH(open_survives_each_failed_mapping),
		CASE_EACH(watch_survives_each_failed_mapping),
		CASE_EACH(unwatch_survives_each_failed_mapping),
		CASE_EACH(open_and_watch_give_all_memory_back),
		CASE_EACH(a_snapshot_without_memory_consumes_nothing),
		CASE_NEEDS(a_snapshot_that_cannot_grow_is_a_marked_superset,
			   WTRACK_CAP_PRECISE),
	};

	if (argc > 1)
		return first_open(argv[1] + strspn(argv[1], "0123456789"),
				  atoi(argv[1]));
	return RUN_CASES("no_memory", cases);
}
