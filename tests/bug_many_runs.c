/* SPDX-License-Identifier: MIT */
/*
 * bug_many_runs.c: more runs than the array, or the kernel's buffer, has.
 *
 * bytecodealliance/wasmtime PR#14357: a scan stops at 32 runs and the rest is
 * taken for clean; the next instance reads old data.  [G6]
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

/* Every second of 10 000 pages. */
#define RUNS  5000
#define SPACE (2 * RUNS)

/* Around 32, which was wrong, and 512, which is the kernel's own buffer. */
static const size_t sizes[] = { 1, 2, 31, 32, 33, 512, 513, 2 * RUNS };

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static bool seen[SPACE];
static struct wtrack_run runs[2 * RUNS];

static char *watched(struct wtrack *t)
{
	return map_watched(t, SPACE);
}

static void write_alternating(char *p)
{
	for (size_t i = 0; i < SPACE; i += 2)
		touch(p, i);
}

static void note(const char *p, const struct wtrack_run *run)
{
	size_t page = (run->start - (uintptr_t)p) / page_size();

	assert_int_equal(run->flags, WTRACK_RUN_WRITTEN);
	assert_int_equal(run->end - run->start, page_size());
	assert_false(seen[page]);
	seen[page] = true;
}

/* Until the array is not full; each page at most once, in order. */
static size_t collect(struct wtrack *t, const char *p, size_t nruns,
		      unsigned flags)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	uintptr_t behind = 0;
	size_t total = 0;
	ssize_t n;

	memset(seen, 0, sizeof(seen));
	do {
		n = wtrack_collect(t, &at, runs, nruns, flags);
		assert_in_range(n, 0, nruns);
		for (ssize_t i = 0; i < n; i++) {
			assert_true(runs[i].start >= behind);
			behind = runs[i].end;
			note(p, &runs[i]);
		}
		total += (size_t)n;
	} while ((size_t)n == nruns);
	return total;
}

static void every_run_is_returned_however_small_the_array(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = watched(t);

	for (size_t i = 0; i < N_SIZES; i++) {
		write_alternating(p);
		assert_int_equal(collect(t, p, sizes[i], WTRACK_GET), RUNS);
		assert_int_equal(
			collect(t, p, sizes[i], WTRACK_GET | WTRACK_CLEAR),
			RUNS);
		assert_clean(t);
	}
	wtrack_close(t);
	unmap_pages(p, SPACE);
}

/* What did not fit is neither cleared nor armed. */
static void what_did_not_fit_keeps_its_state(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = watched(t);

	for (size_t i = 0; i < N_SIZES - 1; i += 2) {
		struct wtrack_cursor at = WTRACK_CURSOR_INIT;
		size_t last = 2 * (sizes[i] - 1);

		write_alternating(p);
		assert_int_equal(wtrack_collect(t, &at, runs, sizes[i],
						WTRACK_GET | WTRACK_CLEAR),
				 sizes[i]);
		assert_int_equal(runs[sizes[i] - 1].start,
				 (uintptr_t)p + last * page_size());
		assert_true(at.next >= runs[sizes[i] - 1].end);
		assert_int_equal(collect(t, p, 2 * RUNS, WTRACK_GET),
				 RUNS - sizes[i]);
		assert_false(seen[last]);
		/* Behind the cursor and before it, stores count. */
		touch(p, 0);
		touch(p, SPACE - 2);
		collect(t, p, 2 * RUNS, WTRACK_GET | WTRACK_CLEAR);
		assert_true(seen[0]);
	}
	wtrack_close(t);
	unmap_pages(p, SPACE);
}

static void clear_alone_clears_every_run(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = watched(t);

	write_alternating(p);
	clear_all(t);
	assert_clean(t);
	write_alternating(p);
	assert_int_equal(collect(t, p, 2 * RUNS, WTRACK_GET), RUNS);
	wtrack_close(t);
	unmap_pages(p, SPACE);
}

static void a_snapshot_has_every_run(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = watched(t);
	struct wtrack_snapshot *s = NULL;
	struct wtrack_run run;

	write_alternating(p);
	assert_int_equal(wtrack_snapshot(t, &s), 0);
	assert_int_equal(wtrack_snapshot_pages(s), RUNS);
	memset(seen, 0, sizeof(seen));
	while (wtrack_snapshot_next(s, &run))
		note(p, &run);
	for (size_t i = 0; i < SPACE; i++) {
		assert_int_equal(seen[i], i % 2 == 0);
		assert_int_equal(
			wtrack_snapshot_contains(s, p + i * page_size()),
			i % 2 == 0);
	}
	assert_clean(t);
	wtrack_snapshot_free(s);
	wtrack_close(t);
	unmap_pages(p, SPACE);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_NEEDS(every_run_is_returned_however_small_the_array,
			   WTRACK_CAP_PRECISE),
		CASE_NEEDS(what_did_not_fit_keeps_its_state,
			   WTRACK_CAP_PRECISE),
		CASE_NEEDS(clear_alone_clears_every_run, WTRACK_CAP_PRECISE),
		CASE_NEEDS(a_snapshot_has_every_run, WTRACK_CAP_PRECISE),
	};

	return RUN_CASES("many_runs", cases);
}
