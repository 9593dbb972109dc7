/* SPDX-License-Identifier: MIT */
/*
 * case_first_write.c: what the first store to a clean, populated page costs.
 *
 * `dense` writes every page of the span; the mapping that mprotect splits
 * there only moves its boundary.  `sparse` writes every second page, so that
 * each fault leaves two mappings more.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>

enum {
	SCAN,
	MPROTECT,
	ALL,
	HAND,
	SIGSEGV_LIB,
	NCONTENDERS
};

struct field {
	struct contender c[NCONTENDERS];
	struct laps laps[NCONTENDERS];
};

static void open_field(const struct bench *b, struct field *f)
{
	static const struct contender all[NCONTENDERS] = {
		[SCAN] = { .ops = &contender_wtrack, .backend = "scan" },
		[MPROTECT] = { .ops = &contender_wtrack,
			       .backend = "mprotect" },
		[ALL] = { .ops = &contender_wtrack, .backend = "all" },
		[HAND] = { .ops = &contender_mprotect },
		[SIGSEGV_LIB] = { .ops = &contender_libsigsegv },
	};

	memcpy(f->c, all, sizeof(all));
	for (size_t i = 0; i < NCONTENDERS; i++)
		contender_open(b, &f->c[i], "first-write");
}

static void take_turn(const struct bench *b, struct field *f, size_t i,
		      const struct span *span, size_t step)
{
	size_t pages = span->len / b->page;
	struct span lap = *span;
	size_t n = 0;

	contender_attach(&f->c[i], span);
	lap.len = span->len / LAPS;
	for (size_t k = 0; k < LAPS; k++, lap.base += lap.len) {
		uint64_t t0 = bench_now();

		n += span_write(b, &lap, step);
		bench_keep_min(&f->laps[i].best[k], bench_now() - t0);
	}
	contender_timed_collect(&f->c[i], span, true, i == ALL ? pages : n,
				"first-write");
	contender_detach(&f->c[i], span);
	/* Pages left write-protected would fault in the next one's turn. */
	span_write(b, span, 1);
}

static void report_pair(const struct bench *b, const struct field *f, int mine,
			int other, struct row row)
{
	if (!f->c[mine].opened || !f->c[other].opened)
		return;
	row.backend = f->c[mine].backend;
	row.value = laps_sum(&f->laps[mine]) / (double)row.n;
	row.peer = f->c[other].ops->name;
	row.peer_value = laps_sum(&f->laps[other]) / (double)row.n;
	row.target = row.limit > 0 ? TARGET_RATIO : TARGET_NONE;
	report_row(b, &row);
}

static void report(const struct bench *b, const struct field *f,
		   const char *pattern, size_t n)
{
	static const struct {
		int mine, other;
		double limit; /* 0: no target */
	} pairs[] = {
		{ SCAN, HAND, 0.75 },     { SCAN, SIGSEGV_LIB, 0.75 },
		{ MPROTECT, HAND, 1.05 }, { MPROTECT, SIGSEGV_LIB, 0 },
		{ ALL, HAND, 0 },
	};
	struct row row = { .n = n, .unit = "ns" };
	char name[32];

	snprintf(name, sizeof(name), "first-write.%s", pattern);
	row.name = name;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		row.limit = pairs[i].limit;
		report_pair(b, f, pairs[i].mine, pairs[i].other, row);
	}
}

static void run_pattern(const struct bench *b, const char *pattern, size_t step)
{
	size_t n = b->quick ? 512 : b->exact ? 1024 : 4096;
	struct span span = span_map(b, n * step * b->page);
	struct field f = { .laps = { { { 0 } } } };

	span_populate(b, &span);
	open_field(b, &f);
	for (size_t round = 0; round < b->rounds; round++)
		for (size_t i = 0; i < NCONTENDERS; i++) {
			size_t who = (round + i) % NCONTENDERS;

			if (f.c[who].opened)
				take_turn(b, &f, who, &span, step);
		}
	report(b, &f, pattern, n);
	for (size_t i = 0; i < NCONTENDERS; i++)
		contender_close(&f.c[i]);
	span_unmap(b, &span);
}

void case_first_write(const struct bench *b)
{
	run_pattern(b, "dense", 1);
	run_pattern(b, "sparse", 2);
}
