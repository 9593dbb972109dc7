/* SPDX-License-Identifier: MIT */
/* sets.c: sets of pages, from scans and to compare them with. */
#include "ktest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 700

unsigned char *new_set(size_t pages)
{
	unsigned char *set = calloc(pages, 1);

	check(set, "no memory");
	return set;
}

static long page_of(const char *start, uint64_t address)
{
	return ((long)address - (long)(uintptr_t)start) / (long)PAGE;
}

/* Counts what one call reported, which must be in order; where it ended. */
static uint64_t count_runs(const struct wt_page_region *runs, long n,
			   const char *start, uint64_t from, uint64_t to,
			   unsigned char *times)
{
	for (long i = 0; i < n; i++) {
		check(runs[i].start >= from && runs[i].end > runs[i].start &&
			      runs[i].end <= to,
		      "run %ld is [%ld, %ld) after page %ld in a scan to %ld",
		      i, page_of(start, runs[i].start),
		      page_of(start, runs[i].end), page_of(start, from),
		      page_of(start, to));
		from = runs[i].end;
		for (uint64_t a = runs[i].start; a < from; a += PAGE)
			times[page_of(start, a)]++;
	}
	return from;
}

/*
 * Kernels that collected more than 512 runs may say an earlier end than that
 * of the last run: what lies behind is then walked again in vain.
 */
void scan_limited(char *start, size_t pages, uint64_t flags, size_t room,
		  size_t max_pages, unsigned char *times)
{
	struct wt_page_region *runs = calloc(room, sizeof(*runs));
	uint64_t from = (uintptr_t)start, end = from + pages * PAGE;

	check(runs, "no memory");
	while (from < end) {
		struct wt_pm_scan_arg arg =
			scan_of(start, 0, runs, room, flags);
		uint64_t last;
		long n;

		arg.start = from;
		arg.end = end;
		arg.max_pages = max_pages;
		n = pagemap_scan(pagemap, &arg);
		check(n >= 0, "PAGEMAP_SCAN: %s", strerror(errno));
		last = count_runs(runs, n, start, from, end, times);
		check(arg.walk_end > from && arg.walk_end <= end,
		      "a scan from page %ld that reports %ld runs ends at %ld",
		      page_of(start, from), n, page_of(start, arg.walk_end));
		from = arg.walk_end > last ? arg.walk_end : last;
	}
	free(runs);
}

void scan_pages(char *start, size_t pages, uint64_t flags, unsigned char *times)
{
	scan_limited(start, pages, flags, ROOM, 0, times);
}

void expect_pages(const char *what, const unsigned char *got,
		  const unsigned char *want, size_t pages)
{
	for (size_t i = 0; i < pages; i++) {
		if (got[i] == want[i] ||
		    (settings.coarse && got[i] == 1 && !want[i]))
			continue;
		fail("%s: page %zu is reported %u times, not %u", what, i,
		     got[i], want[i]);
	}
}

void expect_scan(const char *what, char *start, const unsigned char *want,
		 size_t pages)
{
	unsigned char *got = new_set(pages);

	scan_pages(start, pages, WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC, got);
	expect_pages(what, got, want, pages);
	free(got);
}

void expect_part(char *start, size_t pages, size_t from, size_t to,
		 unsigned char *want)
{
	unsigned char *got = new_set(to - from);

	scan_pages(start + from * PAGE, to - from,
		   WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC, got);
	expect_pages("a part", got, want + from, to - from);
	memset(want + from, 0, to - from);
	expect_scan("the rest", start, want, pages);
	free(got);
}

static void expect_all(const char *what, char *start, size_t pages, int times)
{
	unsigned char *want = new_set(pages);

	memset(want, times, pages);
	expect_scan(what, start, want, pages);
	free(want);
}

void expect_clean(const char *what, char *start, size_t pages)
{
	bool coarse = settings.coarse;

	/* What no one stored to since the last scan is clean for any kernel. */
	settings.coarse = false;
	expect_all(what, start, pages, 0);
	settings.coarse = coarse;
}

void expect_written(const char *what, char *start, size_t pages)
{
	expect_all(what, start, pages, 1);
}
