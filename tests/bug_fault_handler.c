/* SPDX-License-Identifier: MIT */
/*
 * bug_fault_handler.c: what the handler of tracked stores must not disturb.
 *
 * Ravenbrook/mps#10: errno is not kept.  mattias800/prosper PR#1147: the
 * handler gives up when a lock is taken.  gnu-smalltalk: it allocates.
 * rexglue/rexglue-sdk#441: it reads the list of mappings for each fault.  [G5]
 *
 * All run on every backend: where no handler is needed, they must hold too.
 */
#include "support.h"

#include "sys.h"

#include <pthread.h>
#include <string.h>

#define N 64

static void errno_is_kept(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, N);

	for (int i = 0; i < N; i++) {
		errno = 1000 + i;
		touch(p, (size_t)i);
		assert_int_equal(errno, 1000 + i);
	}
	wtrack_close(t);
	unmap_pages(p, N);
}

/* ---- threads ---- */

struct race {
	struct wtrack *t;
	char *p;
	int stop;
};

/* All threads store to the same pages: most faults find the work done. */
static void *store_on(void *arg)
{
	struct race *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED))
		for (size_t i = 0; i < N; i++)
			__atomic_fetch_add(r->p + i * page_size(), 1,
					   __ATOMIC_RELAXED);
	return NULL;
}

static void a_fault_never_gives_up_on_contention(void **state)
{
	struct race r = { open_on(*state), NULL, 0 };
	pthread_t thread[8];

	r.p = map_watched(r.t, N);
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, store_on, &r);
	for (int i = 0; i < 2000; i++) {
		clear_all(r.t);
		/* A handle that comes and goes takes every lock there is. */
		if (i % 100 == 0) {
			struct wtrack *other = open_on(*state);
			char *q = map_watched(other, 4);

			touch(q, 1);
			assert_dirty(other, q, 1);
			wtrack_close(other);
			unmap_pages(q, 4);
		}
	}
	__atomic_store_n(&r.stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	clear_all(r.t);
	assert_clean(r.t);
	wtrack_close(r.t);
	unmap_pages(r.p, N);
}

/* ---- inside of the library ---- */

static char *shared; /* what is stored to */
static int nested;   /* stores made at the door to the kernel */
/* A thread that resolves faults must not wait for one of its own. */
static __thread bool stores;

static bool store_at_the_door(enum wt_sys id, const long args[6], long *result)
{
	static bool busy;

	(void)id;
	(void)args;
	(void)result;
	if (stores && !busy) {
		busy = true; /* the fault's handler comes here as well */
		touch(shared, 5);
		nested++;
		busy = false;
	}
	return false;
}

/*
 * The handler may interrupt whoever holds a lock or is inside of an allocator.
 * Here each call is interrupted wherever it enters the kernel.
 */
static void a_store_while_the_library_works_is_handled(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, N), *q = map_pages(N);
	size_t page = page_size();

	shared = p;
	nested = 0;
	stores = true;
	at_the_door(store_at_the_door);
	for (int i = 0; i < 20; i++) {
		struct wtrack *other = open_on(*state);
		struct wtrack_snapshot *s = NULL;

		assert_int_equal(wtrack_watch(other, q, N * page, 0), 0);
		touch(q, 7);
		assert_int_equal(wtrack_snapshot(other, &s), 0);
		assert_int_equal(wtrack_mark(other, q, 1), 0);
		assert_int_equal(wtrack_unwatch(other, q + page, page), 0);
		assert_dirty_superset(t, p, PAGES(5));
		clear_all(t);
		wtrack_snapshot_free(s);
		wtrack_close(other);
	}
	at_the_door(NULL);
	assert_true(nested > 100);
	clear_all(t);
	assert_clean(t);
	wtrack_close(t);
	unmap_pages(p, N);
	unmap_pages(q, N);
}

/* ---- what a fault costs ---- */

static int entries[WT_SYS_YIELD + 1];

static bool count_entries(enum wt_sys id, const long args[6], long *result)
{
	(void)args;
	(void)result;
	entries[id]++;
	return false;
}

static void a_fault_is_one_call_and_nothing_else(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, N);
	uint64_t faults = stats_of(t).faults;
	int others = 0;

	/* A thread that waits for faults makes more. */
	if (caps_of(t) & WTRACK_CAP_NO_SIGNAL) {
		wtrack_close(t);
		return;
	}

	memset(entries, 0, sizeof(entries));
	at_the_door(count_entries);
	for (size_t i = 0; i < N; i++)
		touch(p, i);
	for (size_t i = 0; i < N; i++)
		touch(p, i); /* [G8] once per page and epoch */
	at_the_door(NULL);
	faults = stats_of(t).faults - faults;
	assert_true(faults == 0 || faults == N);
	for (int i = 0; i <= WT_SYS_YIELD; i++)
		others += entries[i];
	others -= entries[WT_SYS_MPROTECT] + entries[WT_SYS_IOCTL];
	assert_int_equal(entries[WT_SYS_MPROTECT] + entries[WT_SYS_IOCTL],
			 faults);
	assert_int_equal(others, 0);
	wtrack_close(t);
	unmap_pages(p, N);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(errno_is_kept),
		CASE_NEEDS(a_fault_never_gives_up_on_contention,
			   WTRACK_CAP_CONCURRENT),
		CASE_EACH(a_store_while_the_library_works_is_handled),
		CASE_EACH(a_fault_is_one_call_and_nothing_else),
	};

	return RUN_CASES("fault_handler", cases);
}
