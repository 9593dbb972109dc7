/* SPDX-License-Identifier: MIT */
/*
 * case_collect.c: what a collection costs, against the kernel calls alone.
 *
 * `collect` compares one watched range with a raw PAGEMAP_SCAN loop, and
 * `adjacent` many ranges that touch with one.  `gaps` has ranges that do not
 * touch: no scan may cross memory that is not registered, so each side makes
 * one call per range.  `threads` is `collect` in a process that has a second
 * thread, which sleeps: the library then blocks signals while it clears.
 */
#include "bench.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct density densities[] = {
	{ "none", 0, 10 }, { "1/4096", 4096, 10 }, { "1/64", 64, 5 },
	{ "1/2", 2, 1 },   { "1/1", 1, 1 },
};
_Static_assert(COUNT(densities) <= DENSITIES_MAX, "room for each density");

#define PIECE ((size_t)64 << 10)

static size_t big(const struct bench *b)
{
	return b->quick ? 32 * MIB : 512 * MIB;
}

/* With nothing watched, what is left is the library's own way in and out. */
static void collect_nothing(const struct bench *b, const char *name,
			    const char *backend)
{
	struct contender c = { .ops = &contender_wtrack, .backend = backend };
	struct row row = { .name = name, .unit = "ns" };
	struct span nothing = { 0 };
	uint64_t best = 0;

	row.n = 100000;
	row.backend = backend;
	if (!contender_open(b, &c, row.name))
		return;
	for (unsigned round = 0; round < b->rounds; round++) {
		uint64_t t0 = bench_now();

		for (size_t i = 0; i < row.n; i++)
			c.ops->collect(&c, &nothing, true);
		bench_keep_min(&best, bench_now() - t0);
	}
	row.value = (double)best / (double)row.n;
	report_row(b, &row);
	contender_close(&c);
}

static void against_raw(const struct bench *b, struct row row, struct span span,
			const struct density *list, size_t nlist, double per)
{
	struct contender lib = { .ops = &contender_wtrack, .backend = "scan" };
	struct contender raw = { .ops = &contender_raw };
	struct turn turns[] = {
		{ .contender = &lib, .span = span },
		{ .contender = &raw, .span = span },
	};

	row.backend = "scan";
	row.peer = "raw";
	if (contender_open(b, &lib, row.name) &&
	    contender_open(b, &raw, row.name)) {
		density_run(b, row.name, turns, COUNT(turns), list, nlist);
		density_report(b, row, &turns[0], &turns[1], list, nlist, per);
	}
	contender_close(&raw);
	contender_close(&lib);
}

void case_collect(const struct bench *b)
{
	struct span span = span_map(b, big(b));
	struct row row = {
		.name = "collect",
		.n = span.len / b->page,
		.unit = "us",
		.target = TARGET_RATIO,
		.limit = 1.03,
	};

	span_populate(b, &span);
	against_raw(b, row, span, densities, COUNT(densities), 1000);
	span_unmap(b, &span);
	collect_nothing(b, "collect.nothing", "scan");
	collect_nothing(b, "collect.nothing", "mprotect");
	collect_nothing(b, "collect.nothing", "all");
}

void case_adjacent(const struct bench *b)
{
	struct contender one = { .ops = &contender_wtrack, .backend = "scan" };
	struct contender many = one;
	struct span span = span_map(b, big(b));
	struct turn turns[] = {
		{ .contender = &many, .span = span_cut(span, PIECE, PIECE) },
		{ .contender = &one, .span = span },
	};
	struct row row = {
		.name = "adjacent",
		.backend = "scan",
		.n = span_pieces(&turns[0].span),
		.unit = "us",
		.peer = "one range",
		.target = TARGET_RATIO,
		.limit = 1.10,
	};

	span_populate(b, &span);
	if (contender_open(b, &one, row.name) &&
	    contender_open(b, &many, row.name)) {
		density_run(b, row.name, turns, COUNT(turns), densities,
			    COUNT(densities));
		density_report(b, row, &turns[0], &turns[1], densities,
			       COUNT(densities), 1000);
	}
	contender_close(&many);
	contender_close(&one);
	span_unmap(b, &span);
}

void case_gaps(const struct bench *b)
{
	size_t n = b->quick ? 50 : 1000;
	struct span span = span_map(b, n * 2 * PIECE);
	struct density list[] = {
		{ "none", 0, 10 },
		{ "1-page", 2 * PIECE / b->page, 5 },
	};
	struct row row = { .name = "gaps", .n = n, .unit = "ns" };

	span_populate(b, &span);
	against_raw(b, row, span_cut(span, PIECE, 2 * PIECE), list, COUNT(list),
		    (double)n);
	span_unmap(b, &span);
}

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

void case_threads(const struct bench *b)
{
	struct span span = span_map(b, big(b));
	struct row row = {
		.name = "threads",
		.n = span.len / b->page,
		.unit = "us",
	};
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, sleep_on, NULL);

	if (rc != 0)
		bench_die("pthread_create: %s", strerror(rc));
	span_populate(b, &span);
	/* All but the two dense ones, which take long and show nothing. */
	against_raw(b, row, span, densities, COUNT(densities) - 2, 1000);
	span_unmap(b, &span);
	collect_nothing(b, "threads.nothing", "scan");
}
