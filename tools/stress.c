/* SPDX-License-Identifier: MIT */
/*
 * stress.c: is a write lost here, on this machine, now?
 *
 * Threads count in watched pages while these are collected, and a copy gets
 * only what is reported.  Every few milliseconds all stop, and one more
 * collection must make the copy equal to the memory: seldom would hide what is
 * lost, since the next write to the page heals it.  Some pages are never
 * written: if one is called written, the report is wrong.
 */
#include "tool.h"

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define PAGES   512
#define QUIET   8 /* each eighth page is never written */
#define WRITERS 2
#define RUNS    64
#define ROUND   0.005 /* seconds */

struct test {
	struct wtrack *t;
	char *mem;
	char *copy;
	size_t page;
	uint64_t collections;
	uint64_t invented; /* pages */
	uint64_t lost;     /* pages */
	int error;         /* a negative errno of a collection */
	int pause;         /* atomic: meet at the gate */
	int stop;          /* read at the gate */
	pthread_barrier_t gate;
};

struct writer {
	struct test *test;
	pthread_t thread;
	size_t number;
	uint64_t stores;
};

static bool is_quiet(size_t page)
{
	return page % QUIET == 0;
}

/* ---- the writers ---- */

/* Each has a word of its own in every page, so that no store is overtaken. */
static void write_page(struct writer *w, size_t page)
{
	char *at = w->test->mem + page * w->test->page;
	uint64_t *word = (uint64_t *)(void *)at + w->number;

	__atomic_store_n(word, *word + 1, __ATOMIC_RELAXED);
	w->stores++;
}

static bool should_go_on(struct test *test)
{
	if (!__atomic_load_n(&test->pause, __ATOMIC_RELAXED))
		return true;
	pthread_barrier_wait(&test->gate); /* all have stopped */
	pthread_barrier_wait(&test->gate); /* and were looked at */
	return !test->stop;
}

static void *write_pages(void *arg)
{
	struct writer *w = arg;
	uint64_t random = 0x9e3779b97f4a7c15u + w->number;

	while (should_go_on(w->test)) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		if (!is_quiet(random % PAGES))
			write_page(w, random % PAGES);
	}
	return NULL;
}

/* ---- the collector ---- */

static void copy_run(struct test *test, const struct wtrack_run *run)
{
	uintptr_t base = (uintptr_t)test->mem;
	const uint64_t *from = (const uint64_t *)run->start;
	uint64_t *to = (uint64_t *)(void *)(test->copy + (run->start - base));

	for (size_t i = 0; i < (run->end - run->start) / sizeof(*to); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	if (run->flags & WTRACK_RUN_LOST)
		test->error = -ENXIO;
	/* A superset is no lie if it is marked. */
	if (run->flags & ~(uint64_t)WTRACK_RUN_WRITTEN)
		return;
	for (uintptr_t at = run->start; at < run->end; at += test->page)
		test->invented += is_quiet((at - base) / test->page);
}

static void collect(struct test *test, unsigned flags)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[RUNS];
	ssize_t n;

	do {
		n = wtrack_collect(test->t, &at, runs, RUNS,
				   WTRACK_GET | WTRACK_CLEAR | flags);
		for (ssize_t i = 0; i < n; i++)
			copy_run(test, &runs[i]);
	} while (n == RUNS);
	if (n < 0)
		test->error = (int)n;
	test->collections++;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void compare(struct test *test)
{
	for (size_t at = 0; at < PAGES * test->page; at += test->page) {
		if (!memcmp(test->mem + at, test->copy + at, test->page))
			continue;
		test->lost++;
		memcpy(test->copy + at, test->mem + at, test->page);
	}
}

static void play_round(struct test *test, double last)
{
	const struct timespec turn = { 0, 100000 };
	double end = now() + ROUND;

	do {
		collect(test, 0);
		/* Epochs of few writes and of many; and a turn for writers. */
		if (test->collections % 2)
			nanosleep(&turn, NULL);
	} while (!test->error && now() < end);
	__atomic_store_n(&test->pause, 1, __ATOMIC_RELAXED);
	pthread_barrier_wait(&test->gate);
	collect(test, WTRACK_STOPPED);
	compare(test);
	test->stop = test->error || now() >= last;
	__atomic_store_n(&test->pause, 0, __ATOMIC_RELAXED);
	pthread_barrier_wait(&test->gate);
}

static int play(struct test *test, struct writer *writers, long seconds)
{
	double last = now() + (double)seconds;

	pthread_barrier_init(&test->gate, NULL, WRITERS + 1);
	for (size_t i = 0; i < WRITERS; i++) {
		struct writer *w = &writers[i];
		int rc;

		w->test = test;
		w->number = i;
		rc = pthread_create(&w->thread, NULL, write_pages, w);
		if (rc)
			errx(EX_OSERR, "no thread: %s", strerror(rc));
	}
	while (!test->stop)
		play_round(test, last);
	for (size_t i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	pthread_barrier_destroy(&test->gate);
	return test->error;
}

/* ---- the stage ---- */

static int map(struct test *test)
{
	size_t len;
	char *p;

	test->page = (size_t)sysconf(_SC_PAGESIZE);
	len = PAGES * test->page;
	p = mmap(NULL, 2 * len, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	/* One store is to be one page. */
	madvise(p, 2 * len, MADV_NOHUGEPAGE);
	test->mem = p;
	test->copy = p + len;
	return wtrack_watch(test->t, test->mem, len, 0);
}

int stress(struct wtrack *t, long seconds, struct outcome *outcome)
{
	struct writer writers[WRITERS] = { { 0 } };
	struct test test = { .t = t };
	int rc = map(&test);

	if (!rc)
		rc = play(&test, writers, seconds);
	for (int i = 0; i < WRITERS; i++)
		outcome->stores += writers[i].stores;
	outcome->collections = test.collections;
	outcome->lost = test.lost;
	outcome->invented = test.invented;
	if (test.mem)
		munmap(test.mem, 2 * PAGES * test.page);
	return rc;
}
