/* SPDX-License-Identifier: MIT */
/*
 * case_first_write.c: what the first store to a clean, populated page costs.
 *
 * `dense` writes every page of the span; the mapping that mprotect splits
 * there only moves its boundary.  `sparse` writes every second page, so that
 * each fault leaves two mappings more.
 *
 * `monitor` is the same for those whose faults a thread resolves; that thread
 * would be in the way of the others.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>

enum {
	SCAN,
	WP,
	MPROTECT,
	ALL,
	HAND,
	SIGSEGV_LIB,
	SIGBUS_HAND,
	MONITOR,
	MONITOR_HAND,
	NCONTENDERS
};

/* Those of `first` and up to, but not with, `end` take turns. */
struct field {
	size_t first, end;
	struct contender c[NCONTENDERS];
	struct laps laps[NCONTENDERS];
};

static void open_field(const struct bench *b, struct field *f)
{
	static const struct contender all[NCONTENDERS] = {
		[SCAN] = { .ops = &contender_wtrack, .backend = "scan" },
		[WP] = { .ops = &contender_wtrack, .backend = "wp" },
		[MPROTECT] = { .ops = &contender_wtrack,
			       .backend = "mprotect" },
		[ALL] = { .ops = &contender_wtrack, .backend = "all" },
		[HAND] = { .ops = &contender_mprotect },
		[SIGSEGV_LIB] = { .ops = &contender_libsigsegv },
		[SIGBUS_HAND] = { .ops = &contender_sigbus },
		[MONITOR] = { .ops = &contender_wtrack, .backend = "monitor" },
		[MONITOR_HAND] = { .ops = &contender_monitor },
	};

	memcpy(f->c, all, sizeof(all));
	for (size_t i = f->first; i < f->end; i++)
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

static void report_pair(const struct bench *b, const struct field *f,
			size_t mine, size_t other, struct row row)
{
	const struct contender *lacks = !f->c[mine].opened    ? &f->c[mine]
					: !f->c[other].opened ? &f->c[other]
							      : NULL;

	row.backend = f->c[mine].backend;
	if (lacks) {
		row.lacks = contender_label(lacks);
		row.error = lacks->error;
		report_row(b, &row);
		return;
	}
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
		size_t mine, other;
		double limit; /* 0: no target */
	} pairs[] = {
		{ SCAN, HAND, 0.75 },      { SCAN, SIGSEGV_LIB, 0.75 },
		{ MPROTECT, HAND, 1.05 },  { MPROTECT, SIGSEGV_LIB, 0 },
		{ WP, SIGBUS_HAND, 1.10 }, { MONITOR, MONITOR_HAND, 1.10 },
		{ ALL, HAND, 0 },
	};
	struct row row = { .n = n, .unit = "ns" };
	char name[32];

	snprintf(name, sizeof(name), "first-write.%s", pattern);
	row.name = name;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (pairs[i].mine < f->first || pairs[i].mine >= f->end)
			continue;
		row.limit = pairs[i].limit;
		report_pair(b, f, pairs[i].mine, pairs[i].other, row);
	}
}

static void run_pattern(const struct bench *b, const char *pattern, size_t step,
			size_t first, size_t end)
{
	size_t n = b->quick ? 512 : b->exact ? 1024 : 4096;
	struct span span = span_map(b, n * step * b->page);
	struct field f = { .first = first, .end = end };
	size_t count = end - first;

	span_populate(b, &span);
	open_field(b, &f);
	for (size_t round = 0; round < b->rounds; round++)
		for (size_t i = 0; i < count; i++) {
			size_t who = first + (round + i) % count;

			if (f.c[who].opened)
				take_turn(b, &f, who, &span, step);
		}
	report(b, &f, pattern, n);
	for (size_t i = first; i < end; i++)
		contender_close(&f.c[i]);
	span_unmap(b, &span);
}

void case_first_write(const struct bench *b)
{
	run_pattern(b, "dense", 1, SCAN, MONITOR);
	run_pattern(b, "sparse", 2, SCAN, MONITOR);
}

void case_monitor(const struct bench *b)
{
	run_pattern(b, "dense", 1, MONITOR, NCONTENDERS);
	run_pattern(b, "sparse", 2, MONITOR, NCONTENDERS);
}
