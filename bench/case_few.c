/* SPDX-License-Identifier: MIT */
/*
 * case_few.c: what it costs to find 64 written pages in much watched memory.
 *
 * Nothing but these pages is populated.  To watch takes no memory from the
 * program either, but for the kernel's page tables: `resident` and `tables` say
 * how much came with it, in KiB.
 *
 * With a promise that the mappings stay as they are, where the library takes
 * it, the cost is to depend on what was written, not on what is watched.
 */
#include "bench.h"

#include <wtrack.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef WTRACK_WATCH_STABLE
#define STABLE WTRACK_WATCH_STABLE
#else
#define STABLE 0u
#endif

#define WRITTEN ((size_t)64)
/* In each round; what is read can be read again. */
#define READS 5

struct kernel_memory {
	size_t resident, tables; /* KiB */
};

struct few {
	struct contender c;
	const struct bench *bench;
	struct span span;
	const char *label;
	uint64_t best[MODES];
	uint64_t calls[MODES];
	struct kernel_memory before, after;
};

static FILE *open_status(void)
{
	FILE *f = fopen("/proc/self/status", "re");

	if (!f)
		bench_die("/proc/self/status: %s", strerror(errno));
	return f;
}

static struct kernel_memory read_memory(void)
{
	struct kernel_memory m = { 0 };
	FILE *f = open_status();
	char line[128];

	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "RssAnon: %zu", &m.resident);
		sscanf(line, "VmPTE: %zu", &m.tables);
	}
	fclose(f);
	return m;
}

static uint64_t kernel_calls(const struct few *few)
{
	struct wtrack_stats stats = { .size = sizeof(stats) };
	int rc = wtrack_stats(few->c.handle, &stats);

	if (rc != 0)
		bench_die("wtrack_stats: %s", strerror(-rc));
	return stats.kernel_calls;
}

static void time_one(struct few *few, bool clear)
{
	uint64_t calls = kernel_calls(few);

	bench_keep_min(&few->best[clear],
		       contender_timed_collect(&few->c, &few->span, clear,
					       WRITTEN, "few"));
	few->calls[clear] = kernel_calls(few) - calls;
}

static void measure(struct few *few)
{
	const struct bench *b = few->bench;
	size_t step = few->span.len / b->page / WRITTEN;

	few->before = read_memory();
	contender_attach(&few->c, &few->span);
	few->after = read_memory();
	for (unsigned round = 0; round < b->rounds; round++) {
		span_write(b, &few->span, step);
		for (unsigned i = 0; i < READS; i++)
			time_one(few, false);
		time_one(few, true);
	}
	contender_timed_collect(&few->c, &few->span, false, 0, "few");
	contender_detach(&few->c, &few->span);
}

static void put(const struct few *few, const char *what, double value,
		const char *unit, double limit)
{
	char name[64];
	const struct row row = {
		.name = name,
		.backend = few->c.backend,
		.n = WRITTEN,
		.value = value,
		.unit = unit,
		.target =
			few->c.watch && limit > 0 ? TARGET_VALUE : TARGET_NONE,
		.limit = limit,
	};

	snprintf(name, sizeof(name), "few.%s.%s%s", what, few->label,
		 few->c.watch ? ".stable" : "");
	report_row(few->bench, &row);
}

static void report(const struct few *few)
{
	const uint64_t *calls = few->calls;

	put(few, "get", (double)few->best[MODE_GET] / 1000, "us", 20);
	put(few, "get-clear", (double)few->best[MODE_GET_CLEAR] / 1000, "us",
	    0);
	put(few, "get-calls", (double)calls[MODE_GET], "calls", 0);
	put(few, "arm-calls",
	    (double)calls[MODE_GET_CLEAR] - (double)calls[MODE_GET], "calls",
	    WRITTEN);
	put(few, "resident",
	    (double)few->after.resident - (double)few->before.resident, "KiB",
	    0);
	put(few, "tables",
	    (double)few->after.tables - (double)few->before.tables, "KiB", 0);
}

static void run(const struct bench *b, const char *backend, unsigned watch,
		const char *label, size_t len)
{
	struct few few = {
		.c = { .ops = &contender_wtrack,
		       .backend = backend,
		       .watch = watch },
		.bench = b,
		.label = label,
	};

	if (!contender_open(b, &few.c, "few"))
		return;
	few.span = span_map(b, len);
	measure(&few);
	report(&few);
	span_unmap(b, &few.span);
	contender_close(&few.c);
}

static void run_sizes(const struct bench *b, const char *backend,
		      unsigned watch)
{
	run(b, backend, watch, "256M", 256 * MIB);
	if (!b->quick)
		run(b, backend, watch, "4G", 4096 * MIB);
}

void case_few(const struct bench *b)
{
	static const char *const backends[] = { "wp", "mprotect" };

	if (!STABLE)
		bench_note("few: this library has no WTRACK_WATCH_STABLE");
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		run_sizes(b, backends[i], 0);
		if (STABLE)
			run_sizes(b, backends[i], STABLE);
	}
}
