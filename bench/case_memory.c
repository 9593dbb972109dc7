/* SPDX-License-Identifier: MIT */
/*
 * case_memory.c: the library's own memory for each watched GiB.
 *
 * The figure is what the library says that it maps for the handle; the page
 * tables that the kernel needs for armed memory are not in it.
 */
#include "bench.h"

#include <wtrack.h>

#include <string.h>

#define GIB (1024 * MIB)

static void measure(const struct bench *b, const char *backend,
		    const struct span *span, struct row row)
{
	struct contender c = { .ops = &contender_wtrack, .backend = backend };
	struct wtrack_stats stats = { .size = sizeof(stats) };
	int rc;

	if (!contender_open(b, &c, row.name))
		return;
	contender_attach(&c, span);
	rc = wtrack_stats(c.handle, &stats);
	if (rc != 0 || stats.watched_bytes != GIB)
		bench_die("wtrack_stats[%s]: %s, %llu bytes watched", backend,
			  strerror(-rc),
			  (unsigned long long)stats.watched_bytes);
	contender_detach(&c, span);
	row.backend = backend;
	row.value = (double)stats.memory_bytes;
	report_row(b, &row);
	contender_close(&c);
}

void case_memory(const struct bench *b)
{
	size_t piece = (size_t)64 << 10;
	struct span one = span_map(b, GIB);
	struct span whole = span_map(b, 2 * GIB);
	struct span apart = span_cut(whole, piece, 2 * piece);
	struct row row = { .unit = "bytes", .limit = 64 << 10 };

	row.name = "memory.1-range";
	row.n = 1;
	row.target = TARGET_VALUE;
	measure(b, "scan", &one, row);
	row.target = TARGET_NONE;
	measure(b, "mprotect", &one, row);
	measure(b, "all", &one, row);
	row.name = "memory.64-KiB-apart";
	row.n = span_pieces(&apart);
	measure(b, "scan", &apart, row);
	measure(b, "mprotect", &apart, row);
	measure(b, "all", &apart, row);
	span_unmap(b, &whole);
	span_unmap(b, &one);
}
