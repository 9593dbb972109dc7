/* SPDX-License-Identifier: MIT */
/*
 * case_backends.c: all backends side by side, on 64 written pages in memory
 * that is populated: their first writes, a look, a look that clears, and the
 * library's memory.
 *
 * A handle that has a bitmap counts all that the process has of it.  So memory
 * is measured with one handle at a time and the bitmap's backend last; that is
 * worth something only where no other case ran before (--only backends).
 */
#include "bench.h"

#include <wtrack.h>

#include <stdio.h>
#include <string.h>

#define WRITTEN ((size_t)64)
/* In each round; what is read can be read again. */
#define READS 5

struct entrant {
	struct contender c;
	uint64_t write, best[MODES];
	uint64_t memory;
};

/* The last one has a thread, which would be in the way of the others. */
static const char *const names[] = { "scan", "async",    "wp",
				     "all",  "mprotect", "monitor" };
#define COUNT (sizeof(names) / sizeof(names[0]))

static void time_turn(const struct bench *b, struct entrant *e,
		      const struct span *span)
{
	bool all = strcmp(e->c.backend, "all") == 0;
	size_t pages = span->len / b->page;
	size_t expect = all ? pages : WRITTEN;
	uint64_t t0 = bench_now();

	span_write(b, span, pages / WRITTEN);
	bench_keep_min(&e->write, bench_now() - t0);
	for (unsigned i = 0; i < READS; i++)
		bench_keep_min(&e->best[MODE_GET],
			       contender_timed_collect(&e->c, span, false,
						       expect, "backends"));
	bench_keep_min(
		&e->best[MODE_GET_CLEAR],
		contender_timed_collect(&e->c, span, true, expect, "backends"));
}

static void take_turn(const struct bench *b, struct entrant *e,
		      const struct span *span)
{
	contender_attach(&e->c, span);
	for (unsigned i = 0; i < READS; i++)
		time_turn(b, e, span);
	contender_detach(&e->c, span);
	/* Pages left write-protected would fault in the next one's turn. */
	span_write(b, span, 1);
}

static void measure_memory(const struct bench *b, struct entrant *e,
			   const struct span *span)
{
	struct wtrack_stats stats = { .size = sizeof(stats) };
	int rc;

	if (!contender_open(b, &e->c, "backends"))
		return;
	contender_attach(&e->c, span);
	rc = wtrack_stats(e->c.handle, &stats);
	if (rc != 0)
		bench_die("wtrack_stats[%s]: %s", e->c.backend, strerror(-rc));
	e->memory = stats.memory_bytes;
	contender_detach(&e->c, span);
	contender_close(&e->c);
}

static void run_some(const struct bench *b, struct entrant *e, size_t n,
		     const struct span *span)
{
	for (size_t i = 0; i < n; i++)
		measure_memory(b, &e[i], span);
	for (size_t i = 0; i < n; i++)
		if (!e[i].c.error)
			contender_open(b, &e[i].c, "backends");
	for (size_t round = 0; round < b->rounds; round++)
		for (size_t i = 0; i < n; i++)
			if (e[(round + i) % n].c.opened)
				take_turn(b, &e[(round + i) % n], span);
	for (size_t i = 0; i < n; i++)
		contender_close(&e[i].c);
}

static void print_json(const struct bench *b, const struct entrant *e)
{
	const struct row rows[] = {
		{ .name = "backends.first-write",
		  .unit = "ns",
		  .value = (double)e->write / WRITTEN },
		{ .name = "backends.get",
		  .unit = "us",
		  .value = (double)e->best[MODE_GET] / 1000 },
		{ .name = "backends.get-clear",
		  .unit = "us",
		  .value = (double)e->best[MODE_GET_CLEAR] / 1000 },
		{ .name = "backends.memory",
		  .unit = "bytes",
		  .value = (double)e->memory },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct row row = rows[i];

		row.backend = e->c.backend;
		row.n = WRITTEN;
		row.lacks = e->c.error ? e->c.backend : NULL;
		row.error = e->c.error;
		report_row(b, &row);
	}
}

static void print_human(const struct entrant *e)
{
	printf("%-26s %-8s ", "backends", e->c.backend);
	if (e->c.error)
		printf("not available here (%s)\n", strerror(-e->c.error));
	else
		printf("first write %8.1f ns, get %8.1f us, "
		       "get-clear %8.1f us, memory %8llu bytes\n",
		       (double)e->write / WRITTEN,
		       (double)e->best[MODE_GET] / 1000,
		       (double)e->best[MODE_GET_CLEAR] / 1000,
		       (unsigned long long)e->memory);
}

void case_backends(const struct bench *b)
{
	struct span span = span_map(b, (b->quick ? 32 : 512) * MIB);
	struct entrant e[COUNT] = { 0 };

	for (size_t i = 0; i < COUNT; i++)
		e[i].c = (struct contender){ .ops = &contender_wtrack,
					     .backend = names[i] };
	span_populate(b, &span);
	run_some(b, e, COUNT - 1, &span);
	run_some(b, &e[COUNT - 1], 1, &span);
	for (size_t i = 0; i < COUNT; i++) {
		if (b->json)
			print_json(b, &e[i]);
		else
			print_human(&e[i]);
	}
	span_unmap(b, &span);
}
