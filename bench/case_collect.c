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
	return b->quick ? 32 * MIB : b->exact ? 64 * MIB : 512 * MIB;
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

static void run(const struct bench *b, struct duel *duel, size_t len,
		struct row row, double per)
{
	struct contender *mine = duel->side[0].contender;
	struct contender *peer = duel->side[1].contender;

	row.backend = "scan";
	if (contender_open(b, mine, duel->name) &&
	    contender_open(b, peer, duel->name)) {
		density_run(b, duel, len);
		density_report(b, duel, row, per);
	}
	contender_close(peer);
	contender_close(mine);
}

void case_collect(const struct bench *b)
{
	struct contender lib = { .ops = &contender_wtrack, .backend = "scan" };
	struct contender raw = { .ops = &contender_raw };
	struct duel duel = {
		.name = "collect",
		.side = { { .contender = &lib }, { .contender = &raw } },
		.densities = densities,
		.ndensities = COUNT(densities),
	};
	struct row row = {
		.n = big(b) / b->page,
		.unit = "us",
		.peer = "raw",
		.target = TARGET_RATIO,
		.limit = 1.03,
	};

	run(b, &duel, big(b), row, 1000);
	collect_nothing(b, "collect.nothing", "scan");
	collect_nothing(b, "collect.nothing", "mprotect");
	collect_nothing(b, "collect.nothing", "all");
}

void case_adjacent(const struct bench *b)
{
	struct contender many = { .ops = &contender_wtrack, .backend = "scan" };
	struct contender one = many;
	struct duel duel = {
		.name = "adjacent",
		.side = { { .contender = &many,
			    .piece = PIECE,
			    .stride = PIECE },
			  { .contender = &one } },
		.densities = densities,
		.ndensities = COUNT(densities),
	};
	struct row row = {
		.n = big(b) / PIECE,
		.unit = "us",
		.peer = "one range",
		.target = TARGET_RATIO,
		.limit = 1.10,
	};

	run(b, &duel, big(b), row, 1000);
}

void case_gaps(const struct bench *b)
{
	size_t n = b->quick ? 50 : 1000;
	struct contender lib = { .ops = &contender_wtrack, .backend = "scan" };
	struct contender raw = { .ops = &contender_raw };
	struct density list[] = {
		{ "none", 0, 10 },
		{ "1-page", 2 * PIECE / b->page, 5 },
	};
	struct duel duel = {
		.name = "gaps",
		.side = { { .contender = &lib,
			    .piece = PIECE,
			    .stride = 2 * PIECE },
			  { .contender = &raw,
			    .piece = PIECE,
			    .stride = 2 * PIECE } },
		.densities = list,
		.ndensities = COUNT(list),
	};
	struct row row = { .n = n, .unit = "ns", .peer = "raw" };

	run(b, &duel, n * 2 * PIECE, row, (double)n);
}

static void *sleep_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

void case_threads(const struct bench *b)
{
	struct contender lib = { .ops = &contender_wtrack, .backend = "scan" };
	struct contender raw = { .ops = &contender_raw };
	struct duel duel = {
		.name = "threads",
		.side = { { .contender = &lib }, { .contender = &raw } },
		.densities = densities,
		/* Not the dense ones, which take long and show nothing. */
		.ndensities = COUNT(densities) - 2,
	};
	struct row row = {
		.n = big(b) / b->page,
		.unit = "us",
		.peer = "raw",
	};
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, sleep_on, NULL);

	if (rc != 0)
		bench_die("pthread_create: %s", strerror(rc));
	run(b, &duel, big(b), row, 1000);
	collect_nothing(b, "threads.nothing", "scan");
}
