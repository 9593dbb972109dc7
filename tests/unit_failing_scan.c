/* SPDX-License-Identifier: MIT */
/*
 * unit_failing_scan.c: PAGEMAP_SCAN fails in the middle of a collection.
 *
 * The kernel may have cleared bits before it failed, and nobody can say which.
 * So what is reported must be a superset that says so, never less.  [G1] [G3]
 */
#include "support.h"

#include "sys.h"
#include "uapi.h"

#include <string.h>
#include <sys/ioctl.h>

#define N 64

/* How a scan fails. */
enum how {
	AT_ONCE, /* before it did anything */
	AT_END,  /* after it had cleared all */
	HALFWAY, /* after it had cleared the lower half of what was asked */
	HOWS
};

static enum how how;
static long error;
static int countdown; /* scans that still work */
static int failures;  /* scans that will fail; then they work again */
static bool clearing; /* only those that clear fail */
static bool at_parts; /* so does the look for what is registered */

static bool fail_scan(enum wt_sys id, const long args[6], long *result)
{
	struct wt_pm_scan_arg *arg = (void *)args[2], real;

	if (id != WT_SYS_IOCTL || args[1] != (long)WT_PAGEMAP_SCAN)
		return false;
	if (clearing && !(arg->flags & WT_PM_WP_MATCHING))
		return false;
	if (!at_parts && (arg->category_mask & WT_PAGE_IS_WPALLOWED))
		return false;
	if (countdown-- > 0 || failures-- <= 0)
		return false;
	real = *arg;
	if (how == HALFWAY)
		real.end = (real.start + (real.end - real.start) / 2) &
			   ~(page_size() - 1);
	if (how != AT_ONCE && real.end > real.start)
		ioctl((int)args[0], WT_PAGEMAP_SCAN, &real);
	arg->walk_end = arg->end; /* as the kernel does on errors */
	*result = error;
	return true;
}

static void fail_after(int scans, int times)
{
	countdown = scans;
	failures = times;
	at_the_door(fail_scan);
}

/* ---- what was written, and what was said about it ---- */

struct answer {
	bool written[N];
	uint64_t flags[N]; /* of the runs that had the page, together */
};

static void write_some(struct answer *a, char *p)
{
	memset(a, 0, sizeof(*a));
	for (size_t i = 0; i < N; i++)
		if (i % 3 == 1 || i % 16 == 8 || i > 60) {
			touch(p, i);
			a->written[i] = true;
		}
}

static void collect_into(struct answer *a, struct wtrack *t, const char *p,
			 size_t nruns, unsigned flags)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[N];
	uintptr_t behind = 0;
	ssize_t n;

	do {
		n = wtrack_collect(t, &at, runs, nruns, flags);
		assert_in_range(n, 0, nruns);
		for (ssize_t i = 0; i < n; i++) {
			assert_true(runs[i].start >= behind);
			behind = runs[i].end;
			for (uintptr_t x = runs[i].start; x < behind;
			     x += page_size())
				a->flags[(x - (uintptr_t)p) / page_size()] |=
					runs[i].flags;
		}
	} while ((size_t)n == nruns);
}

static void assert_marked_superset(const struct answer *a)
{
	const uint64_t marks = WTRACK_RUN_DEGRADED | WTRACK_RUN_LOST;

	for (size_t i = 0; i < N; i++) {
		if (a->written[i])
			assert_int_not_equal(a->flags[i], 0);
		else if (a->flags[i])
			assert_true(a->flags[i] & marks);
	}
}

/* Whatever happened, the next epochs are exact again. */
static void assert_tracks_on(struct wtrack *t, char *p)
{
	clear_all(t);
	assert_clean(t);
	touch(p, 0);
	touch(p, 33);
	touch(p, N - 1);
	assert_dirty(t, p, 0, 33, N - 1);
	clear_all(t);
	assert_clean(t);
}

static const size_t sizes[] = { 1, 2, 3, 5, N };
static const long errors[] = {
	-EIO, -ENOMEM, -EPERM, -EINTR, -EFAULT, -EAGAIN
};

static void try_each(void (*f)(struct wtrack *, char *, size_t))
{
	struct wtrack *t = open_on("scan");
	char *p = map_watched(t, N);

	for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			for (how = AT_ONCE; how < HOWS; how++) {
				error = errors[e];
				f(t, p, sizes[s]);
				at_the_door(NULL);
				assert_tracks_on(t, p);
			}
	wtrack_close(t);
	unmap_pages(p, N);
}

static void fail_one_of_the_clearing(struct wtrack *t, char *p, size_t nruns)
{
	for (int after = 0; after < 4; after++) {
		struct answer a;

		write_some(&a, p);
		fail_after(after, 1);
		collect_into(&a, t, p, nruns, WTRACK_GET | WTRACK_CLEAR);
		at_the_door(NULL);
		/* A store that raced would be here: the rest of the epoch. */
		collect_into(&a, t, p, N, WTRACK_GET | WTRACK_CLEAR);
		assert_marked_superset(&a);
	}
}

static void a_failed_clearing_scan_is_a_marked_superset(void **state)
{
	(void)state;
	clearing = true;
	at_parts = false;
	try_each(fail_one_of_the_clearing);
}

static void fail_all_of_the_clearing(struct wtrack *t, char *p, size_t nruns)
{
	struct answer a;

	write_some(&a, p);
	fail_after(0, 1000000);
	collect_into(&a, t, p, nruns, WTRACK_GET | WTRACK_CLEAR);
	at_the_door(NULL);
	collect_into(&a, t, p, N, WTRACK_GET | WTRACK_CLEAR);
	assert_marked_superset(&a);
}

static void if_every_scan_fails_all_is_reported(void **state)
{
	(void)state;
	clearing = true;
	at_parts = false;
	try_each(fail_all_of_the_clearing);
	clearing = false;
	at_parts = true;
	try_each(fail_all_of_the_clearing);
}

/* Without clearing nothing may be consumed either. */
static void fail_the_looking(struct wtrack *t, char *p, size_t nruns)
{
	struct answer a, later;

	if (how != AT_ONCE)
		return;
	write_some(&a, p);
	later = a;
	fail_after(0, 1);
	collect_into(&a, t, p, nruns, WTRACK_GET);
	at_the_door(NULL);
	assert_marked_superset(&a);
	collect_into(&later, t, p, N, WTRACK_GET);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(later.flags[i],
				 later.written[i] ? WTRACK_RUN_WRITTEN : 0);
}

static void a_failed_look_consumes_nothing(void **state)
{
	(void)state;
	clearing = false;
	at_parts = false;
	try_each(fail_the_looking);
	at_parts = true;
	try_each(fail_the_looking);
}

/* CLEAR alone forgets what was written before, and nothing written after. */
static void fail_clear_alone(struct wtrack *t, char *p, size_t nruns)
{
	struct answer a;

	(void)nruns;
	write_some(&a, p);
	fail_after(0, 1);
	assert_int_equal(wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR), 0);
	at_the_door(NULL);
	write_some(&a, p);
	collect_into(&a, t, p, N, WTRACK_GET | WTRACK_CLEAR);
	assert_marked_superset(&a);
}

static void stores_after_a_failed_clear_alone_are_seen(void **state)
{
	(void)state;
	clearing = true;
	at_parts = false;
	try_each(fail_clear_alone);
}

static void fail_the_snapshot(struct wtrack *t, char *p, size_t nruns)
{
	struct wtrack_snapshot *s = NULL;
	struct answer a;

	(void)nruns;
	write_some(&a, p);
	fail_after(0, 1);
	assert_int_equal(wtrack_snapshot(t, &s), 0);
	at_the_door(NULL);
	for (size_t i = 0; i < N; i++)
		if (a.written[i])
			assert_int_equal(wtrack_snapshot_contains(
						 s, p + i * page_size()),
					 1);
	wtrack_snapshot_free(s);
}

static void a_snapshot_has_all_though_its_scan_failed(void **state)
{
	(void)state;
	clearing = true;
	at_parts = false;
	try_each(fail_the_snapshot);
}

static void a_failure_is_counted(void **state)
{
	struct wtrack *t = open_on("scan");
	char *p = map_watched(t, N);
	struct wtrack_run runs[4];

	(void)state;
	how = AT_ONCE;
	error = -EIO;
	clearing = true;
	fail_after(0, 1);
	assert_int_equal(
		wtrack_collect(t, NULL, runs, 4, WTRACK_GET | WTRACK_CLEAR), 1);
	assert_true(stats_of(t).degraded > 0);
	wtrack_close(t);
	unmap_pages(p, N);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_IF(a_failed_clearing_scan_is_a_marked_superset,
			lacks_scan),
		CASE_IF(if_every_scan_fails_all_is_reported, lacks_scan),
		CASE_IF(a_failed_look_consumes_nothing, lacks_scan),
		CASE_IF(stores_after_a_failed_clear_alone_are_seen, lacks_scan),
		CASE_IF(a_snapshot_has_all_though_its_scan_failed, lacks_scan),
		CASE_IF(a_failure_is_counted, lacks_scan),
	};

	return RUN_CASES("failing_scan", cases);
}
