/* SPDX-License-Identifier: MIT */
/*
 * measure.c: plays the cases, iteration by iteration, and prints their figures.
 */
#include "kbench.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#define ITERATIONS     5
#define ITERATIONS_MAX 1000
#define SMALLER        16

/* One counter is one row, so that its median is that of the row. */
enum {
	FAULTS,
	FULL,
	ONE,
	REMOTE,
	SPLITS,
	ROUNDS,
	OPERATIONS,
	NCOUNTERS
};

static uint64_t seen[NCOUNTERS][ITERATIONS_MAX];

/* For die(), which tells whose fault it is. */
static const char *playing;

_Noreturn void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "kbench: %s%s", playing ? playing : "",
		playing ? ": " : "");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t rise(uint64_t before, uint64_t after)
{
	return before == COUNTER_MISSING ? COUNTER_MISSING : after - before;
}

static void keep_counters(int i, const struct counters *c)
{
	seen[FAULTS][i] = c->faults;
	seen[FULL][i] = c->full;
	seen[ONE][i] = c->one;
	seen[REMOTE][i] = c->remote;
	seen[SPLITS][i] = c->splits;
	seen[ROUNDS][i] = c->rounds;
	seen[OPERATIONS][i] = c->operations;
}

/* Returns how long the iteration took. */
static uint64_t iterate(struct trial *t)
{
	const struct steps *steps = t->kcase->steps;
	struct counters before, after;
	uint64_t start, ns;

	if (steps->prepare)
		steps->prepare(t);
	t->signals = 0;
	counters_read(&before);
	start = now();
	steps->run(t);
	ns = now() - start;
	counters_read(&after);
	t->counters = (struct counters){
		.faults = rise(before.faults, after.faults) + t->signals,
		.full = rise(before.full, after.full),
		.one = rise(before.one, after.one),
		.remote = rise(before.remote, after.remote),
		.splits = rise(before.splits, after.splits),
		.rounds = rise(before.rounds, after.rounds),
		.operations = rise(before.operations, after.operations),
	};
	if (steps->check)
		steps->check(t);
	return ns;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print_figures(const struct trial *t, uint64_t least, int n)
{
	printf("kbench %s %zu %" PRIu64, t->kcase->name, t->units, least);
	for (int i = 0; i < NCOUNTERS; i++) {
		uint64_t median;

		qsort(seen[i], (size_t)n, sizeof(seen[i][0]), by_value);
		median = seen[i][n / 2];
		if (median == COUNTER_MISSING)
			printf(" -");
		else
			printf(" %" PRIu64, median);
	}
	printf("\n");
	fflush(stdout);
}

/* The first iteration fills caches and page tables, and is not counted. */
static void play(struct trial *t, int n)
{
	uint64_t least = UINT64_MAX;

	for (t->iteration = 0; t->iteration <= n; t->iteration++) {
		uint64_t ns = iterate(t);

		if (t->iteration == 0)
			continue;
		keep_counters(t->iteration - 1, &t->counters);
		if (ns < least)
			least = ns;
	}
	print_figures(t, least, n);
}

static int iterations_of(const struct kcase *k, const struct settings *settings)
{
	if (settings->iterations > 0)
		return settings->iterations;
	return k->iterations > 0 ? k->iterations : ITERATIONS;
}

static size_t bytes_of(const struct kcase *k, const struct settings *settings)
{
	return settings->small ? k->bytes / SMALLER : k->bytes;
}

static bool has_memory_of(const struct trial *t, const struct kcase *k,
			  const struct settings *settings)
{
	return t->kcase && t->kcase->steps->set_up == k->steps->set_up &&
	       t->bytes == bytes_of(k, settings);
}

static void finish(struct trial *t)
{
	if (t->kcase && t->kcase->steps->tear_down)
		t->kcase->steps->tear_down(t);
	*t = (struct trial){ .uffd = -1, .pagemap = -1 };
}

void measure(const struct kcase *const *cases, size_t n,
	     const struct settings *settings)
{
	struct trial t = { .uffd = -1, .pagemap = -1 };
	struct utsname host;

	uname(&host);
	printf("# kbench on %s %s, %s scale\n", host.sysname, host.release,
	       settings->small ? "small" : "full");
	counters_open();
	for (size_t i = 0; i < n; i++) {
		const char *why = NULL;
		bool ready = has_memory_of(&t, cases[i], settings);

		playing = cases[i]->name;
		if (!ready)
			finish(&t);
		t.kcase = cases[i];
		t.bytes = bytes_of(cases[i], settings);
		if (!ready && cases[i]->steps->set_up)
			why = cases[i]->steps->set_up(&t);
		if (why) {
			printf("kbench %s skip %s\n", playing, why);
			finish(&t);
			continue;
		}
		play(&t, iterations_of(cases[i], settings));
	}
	finish(&t);
	playing = NULL;
}
