/* SPDX-License-Identifier: MIT */
/*
 * bug_fork.c: fork and exit beside tracking.
 *
 * linux "mm/userfaultfd: Fix uffd-wp special cases for fork()": bits go wrong
 * over a fork.  linux "mm/hugetlb: fix swap entry corruption when clearing
 * uffd-wp at fork()".  CloudSecurityAlliance/gsd-database#1091: arming races
 * with the end of the process.  [G7]
 */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 64

struct scene {
	struct wtrack *t;
	char *p;
	size_t page; /* bytes, of the kind of memory */
	uint32_t random;
};

static uint32_t next_random(struct scene *s)
{
	return (s->random = s->random * 1664525u + 1013904223u) >> 8;
}

/* The child writes and collects all, and must not be felt. */
static void child_writes_all(void *arg)
{
	struct scene *s = arg;

	for (size_t i = 0; i < N; i++)
		touch(s->p, i);
}

static void child_tracks(void *arg)
{
	struct scene *s = arg;
	struct run_list l = collect_all(s->t, WTRACK_GET | WTRACK_CLEAR);
	bool tracked = caps_of(s->t) & WTRACK_CAP_PRECISE;

	CHECK(l.n == 1);
	CHECK(l.at[0].start == (uintptr_t)s->p);
	CHECK(l.at[0].end == (uintptr_t)s->p + N * page_size());
	CHECK(l.at[0].flags & (WTRACK_RUN_INITIAL | WTRACK_RUN_UNTRACKED));
	touch(s->p, 1);
	touch(s->p, 40);
	if (tracked)
		assert_dirty(s->t, s->p, 1, 40);
	assert_dirty_superset(s->t, s->p, PAGES(1, 40));
	wtrack_close(s->t);
}

static void a_storm_of_forks_leaves_the_parent_exact(void **state)
{
	struct scene s = { open_on(*state), NULL, page_size(), 1 };

	s.p = map_watched(s.t, N);
	for (int storm = 0; storm < rounds(100); storm++) {
		size_t pages[4];

		for (size_t i = 0; i < 4; i++) {
			pages[i] = next_random(&s) % N;
			touch(s.p, pages[i]);
			if (i == 1)
				assert_child_passes(child_writes_all, &s);
			if (i == 2 && storm % 8 == 0)
				assert_child_passes(child_tracks, &s);
		}
		assert_dirty_exactly(s.t, s.p, pages, 4);
		clear_all(s.t);
		assert_clean(s.t);
	}
	wtrack_close(s.t);
	unmap_pages(s.p, N);
}

static void forks_of_forks_track(void **state)
{
	struct scene s = { open_on(*state), NULL, page_size(), 1 };
	int status = 0;

	s.p = map_watched(s.t, N);
	for (int depth = 0; depth < 4; depth++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (child) {
			assert_int_equal(waitpid(child, &status, 0), child);
			if (depth) /* itself a child */
				_exit(status ? 1 : 0);
			break;
		}
		clear_all(s.t);
		touch(s.p, (size_t)depth);
		assert_dirty_superset(s.t, s.p, PAGES((size_t)depth));
		if (caps_of(s.t) & WTRACK_CAP_PRECISE)
			CHECK(!is_dirty(s.t, s.p + 5 * s.page));
		if (depth == 3)
			_exit(0);
	}
	assert_int_equal(status, 0);
	wtrack_close(s.t);
	unmap_pages(s.p, N);
}

/* A store that another thread makes while the process forks is not lost. */
static void *store_on(void *arg)
{
	struct scene *s = arg;

	while (!__atomic_load_n(&s->random, __ATOMIC_RELAXED))
		touch(s->p, 10);
	return NULL;
}

static void threads_that_store_while_forking_are_seen(void **state)
{
	struct scene s = { open_on(*state), NULL, page_size(), 0 };
	pthread_t thread;

	s.p = map_watched(s.t, N);
	pthread_create(&thread, NULL, store_on, &s);
	for (int i = 0; i < rounds(50); i++) {
		assert_child_passes(child_tracks, &s);
		clear_all(s.t);
	}
	__atomic_store_n(&s.random, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	touch(s.p, 10);
	assert_dirty(s.t, s.p, 10);
	wtrack_close(s.t);
	unmap_pages(s.p, N);
}

/* ---- huge pages ---- */

static void huge_pages_survive_forks(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_HUGETLB, 2, true);
	volatile char *first = m.base, *second = m.base + m.page;
	int status;

	assert_int_equal(wtrack_watch(t, m.base, 2 * m.page, 0), 0);
	for (int i = 0; i < 20; i++) {
		pid_t child;

		*first = (char)i;
		fflush(NULL);
		child = fork();
		if (child == 0)
			_exit(*first == (char)i ? 0 : 1);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		assert_true(is_dirty(t, m.base));
		if (caps_of(t) & WTRACK_CAP_PRECISE)
			assert_false(is_dirty(t, (char *)second));
		clear_all(t);
		assert_int_equal(*first, (char)i);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- the end of the process ---- */

static void *arm_on(void *arg)
{
	struct scene *s = arg;

	for (;;) {
		wtrack_unwatch(s->t, s->p, N / 2 * s->page);
		wtrack_watch(s->t, s->p, N / 2 * s->page, 0);
		touch(s->p, N - 1);
		wtrack_collect(s->t, NULL, NULL, 0, WTRACK_CLEAR);
	}
	return NULL;
}

static void exit_while_another_thread_arms(void *arg)
{
	/* The thread goes on when this has returned. */
	static struct scene s;
	pthread_t thread;

	s = (struct scene){ open_on(arg), NULL, page_size(), 1 };
	s.p = map_watched(s.t, N);
	if (pthread_create(&thread, NULL, arm_on, &s))
		_exit(3);
	usleep(1000);
}

static void the_process_may_end_while_a_thread_arms(void **state)
{
	for (int i = 0; i < rounds(60); i++)
		assert_child_passes(exit_while_another_thread_arms,
				    (void *)(uintptr_t)*state);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(a_storm_of_forks_leaves_the_parent_exact),
		CASE_EACH(forks_of_forks_track),
		CASE_EACH(threads_that_store_while_forking_are_seen),
		CASE_ON_KIND(huge_pages_survive_forks, MEM_HUGETLB, 0,
			     lacks_hugetlb),
		CASE_NEEDS_IF(the_process_may_end_while_a_thread_arms, 0,
			      lacks_untouched_threads),
	};

	return RUN_CASES("fork", cases);
}
