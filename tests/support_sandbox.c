/* SPDX-License-Identifier: MIT */
/* support_sandbox.c: opens a handle in a sandbox, and tries it hard. */
#include "support_sandbox.h"

#include <grp.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define N_PAGES   64
#define N_THREADS 3
#define N_ROUNDS  20

struct wtrack *open_in_sandbox(const char *backend, struct wtrack_info *info)
{
	struct wtrack *t = NULL;

	info->size = sizeof(*info);
	assert_int_equal(wtrack_open(NULL, &t), 0);
	assert_int_equal(wtrack_info(t, info), 0);
	assert_string_equal(info->backend, backend);
	return t;
}

void become_nobody(void)
{
	assert_int_equal(setgroups(0, NULL), 0);
	assert_int_equal(setresgid(NOBODY, NOBODY, NOBODY), 0);
	assert_int_equal(setresuid(NOBODY, NOBODY, NOBODY), 0);
}

/* ---- threads that store once to each of their pages in every round ---- */

struct writers {
	char *pages;
	pthread_barrier_t round;
	int numbers;
};

static void *write_rounds(void *arg)
{
	struct writers *w = arg;
	size_t first =
		(size_t)__atomic_fetch_add(&w->numbers, 1, __ATOMIC_RELAXED);

	for (int i = 0; i < N_ROUNDS; i++) {
		pthread_barrier_wait(&w->round);
		for (size_t p = first; p < N_PAGES; p += N_THREADS)
			touch(w->pages, p);
		pthread_barrier_wait(&w->round);
	}
	return NULL;
}

/* Notes which of the pages are reported; the handle may watch others. */
static void take(struct wtrack *t, const char *pages, bool *seen)
{
	struct run_list list = collect_all(t, WTRACK_GET | WTRACK_CLEAR);
	uintptr_t page = page_size(), first = (uintptr_t)pages;

	for (size_t i = 0; i < list.n; i++)
		for (size_t p = 0; p < N_PAGES; p++)
			if (first + p * page >= list.at[i].start &&
			    first + p * page < list.at[i].end)
				seen[p] = true;
}

static void assert_threads_lose_nothing(struct wtrack *t, char *pages)
{
	struct writers w = { .pages = pages };
	pthread_t thread[N_THREADS];

	pthread_barrier_init(&w.round, NULL, N_THREADS + 1);
	for (size_t i = 0; i < N_THREADS; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, write_rounds, &w), 0);
	for (int i = 0; i < N_ROUNDS; i++) {
		bool seen[N_PAGES] = { false };

		pthread_barrier_wait(&w.round);
		take(t, pages, seen);
		pthread_barrier_wait(&w.round);
		take(t, pages, seen);
		for (size_t p = 0; p < N_PAGES; p++)
			assert_true(seen[p]);
	}
	for (size_t i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	pthread_barrier_destroy(&w.round);
}

void assert_nothing_lost(struct wtrack *t)
{
	char *pages = map_watched(t, N_PAGES);

	touch(pages, 2);
	touch(pages, 5);
	assert_dirty(t, pages, 2, 5);
	clear_all(t);
	assert_clean(t);
	touch(pages, 6);
	assert_dirty(t, pages, 6);
	clear_all(t);
	assert_threads_lose_nothing(t, pages);
	assert_int_equal(wtrack_unwatch(t, pages, N_PAGES * page_size()), 0);
	/* Not left armed. */
	touch(pages, 7);
	unmap_pages(pages, N_PAGES);
}
