/* SPDX-License-Identifier: MIT */
/*
 * case_parallel.c: a collection by two threads, each of its own part of the
 * handle and on its own processor, against one thread.
 *
 * The second thread sleeps while the first works alone.  For a collection by
 * both it is woken first; then they wait for each other without sleeping, and
 * only from there on time counts.
 */
#include "bench.h"

#include <wtrack.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Runs of either thread; no case has more. */
#define ROOM ((size_t)8192)

struct part {
	struct wtrack_cursor at;
	struct wtrack_run runs[ROOM];
	size_t n;
	uint64_t start, end; /* of the collection */
};

static struct team {
	struct wtrack *handle;
	struct span span;
	size_t step;    /* every step-th page is written; 0: none */
	unsigned flags; /* of the collection */
	struct part part[2];
	pthread_t second;
	int cpu; /* the second thread's */
	sem_t go;
	bool over;
	atomic_uint arrived; /* at all meetings so far */
} team;

/* Both threads come here equally often: they go on at even numbers. */
static void meet(void)
{
	unsigned until = (atomic_fetch_add(&team.arrived, 1) | 1) + 1;

	while ((int)(atomic_load(&team.arrived) - until) < 0)
		;
}

static void collect(struct part *part)
{
	ssize_t n;

	part->start = bench_now();
	n = wtrack_collect(team.handle, &part->at, part->runs, ROOM,
			   team.flags);
	part->end = bench_now();
	if (n < 0)
		bench_die("wtrack_collect: %s", strerror((int)-n));
	if ((size_t)n == ROOM)
		bench_die("parallel: too many runs");
	part->n = (size_t)n;
}

static void *be_second(void *unused)
{
	if (!processor_take(team.cpu))
		bench_die("sched_setaffinity: %s", strerror(errno));
	for (;;) {
		while (sem_wait(&team.go) != 0)
			;
		if (team.over)
			return unused;
		meet();
		collect(&team.part[1]);
		meet();
	}
}

static uint64_t time_one(void)
{
	team.part[0].at = (struct wtrack_cursor)WTRACK_CURSOR_INIT;
	team.part[1].n = 0;
	collect(&team.part[0]);
	return team.part[0].end - team.part[0].start;
}

/* From when the first began: either may lose its processor at the barrier. */
static uint64_t time_two(void)
{
	struct wtrack_cursor at[2];
	ssize_t n = wtrack_split(team.handle, NULL, at, 2);
	const struct part *one = &team.part[0], *two = &team.part[1];

	if (n != 2)
		bench_die("wtrack_split: %zd parts of 2", n);
	team.part[0].at = at[0];
	team.part[1].at = at[1];
	sem_post(&team.go);
	meet();
	collect(&team.part[0]);
	meet();
	return (one->end > two->end ? one->end : two->end) -
	       (one->start < two->start ? one->start : two->start);
}

/* The runs of both parts, one after the other, are the pages written. */
static void check(const struct bench *b)
{
	uintptr_t base = (uintptr_t)team.span.base;
	size_t apart = team.step * b->page, k = 0;
	size_t expect = apart ? team.span.len / apart : 0;

	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < team.part[i].n; j++, k++) {
			const struct wtrack_run *run = &team.part[i].runs[j];

			if (run->start != base + k * apart ||
			    run->end != run->start + b->page)
				bench_die("parallel: run %zu is wrong", k);
		}
	if (k != expect)
		bench_die("parallel: %zu runs reported, %zu written", k,
			  expect);
}

static void measure(const struct bench *b, uint64_t best[2])
{
	/* A round takes a millisecond, and the second processor is often busy
	 * with something else. */
	unsigned rounds = b->rounds * (b->quick || b->exact ? 1 : 20);

	for (unsigned round = 0; round < 2 * rounds; round++) {
		bool two = round % 2;

		span_write(b, &team.span, team.step);
		bench_keep_min(&best[two], two ? time_two() : time_one());
		check(b);
	}
}

static void run(const struct bench *b, const char *name, size_t len,
		size_t step, unsigned flags, double limit)
{
	uint64_t best[2] = { 0 };
	struct row row = {
		.name = name,
		.backend = "scan",
		.n = len / b->page,
		.unit = "us",
		.peer = "one thread",
		.target = limit > 0 ? TARGET_RATIO : TARGET_NONE,
		.limit = limit,
	};
	int rc;

	team.span = span_map(b, len);
	team.step = step;
	team.flags = flags;
	/* Where nothing is written, markers fill the page tables as well. */
	if (step)
		span_populate(b, &team.span);
	rc = wtrack_watch(team.handle, team.span.base, len, 0);
	if (rc != 0)
		bench_die("wtrack_watch: %s", strerror(-rc));
	measure(b, best);
	rc = wtrack_unwatch(team.handle, team.span.base, len);
	if (rc != 0)
		bench_die("wtrack_unwatch: %s", strerror(-rc));
	span_unmap(b, &team.span);
	row.value = (double)best[1] / 1000;
	row.peer_value = (double)best[0] / 1000;
	report_row(b, &row);
}

static void run_all(const struct bench *b)
{
	const bool small = b->quick || b->exact;
	const unsigned fused = WTRACK_GET | WTRACK_CLEAR;
	size_t much = (small ? 128 : 4096) * MIB;
	size_t less = (small ? 32 : 512) * MIB;

	/* 1.7 times as fast. */
	run(b, "parallel.get.none", much, 0, WTRACK_GET, 0.588);
	run(b, "parallel.get.1/64", less, 64, WTRACK_GET, 0);
	run(b, "parallel.get-clear.1/64", less, 64, fused, 0);
}

void case_parallel(const struct bench *b)
{
	struct wtrack_options opts = WTRACK_OPTIONS_INIT;
	int rc;

	opts.backend = "scan";
	rc = wtrack_open(&opts, &team.handle);
	team.cpu = processor_other();
	if (rc != 0 || team.cpu < 0) {
		bench_note("parallel: not available here (%s)",
			   rc ? strerror(-rc) : "one processor");
		wtrack_close(team.handle);
		return;
	}
	sem_init(&team.go, 0, 0);
	rc = pthread_create(&team.second, NULL, be_second, NULL);
	if (rc != 0)
		bench_die("pthread_create: %s", strerror(rc));
	run_all(b);
	team.over = true;
	sem_post(&team.go);
	pthread_join(team.second, NULL);
	sem_destroy(&team.go);
	wtrack_close(team.handle);
}
