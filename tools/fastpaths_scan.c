/* SPDX-License-Identifier: MIT */
/* fastpaths_scan.c: how fast is PAGEMAP_SCAN, and what does it leave out? */
#include "fastpaths_stage.h"

#include <sys/mman.h>
#include <time.h>

/* ---- short loops ---- */

/* Enough for the loops to outweigh the call; a few microseconds. */
#define PAGES 2048
#define PAIRS 64

/*
 * How many times as long the long loop takes.  With short loops, seen in 900
 * runs on Linux 6.18, some beside busy loops: 2.6 to 3.1; on 6.12 in an
 * emulator: 2.5, with our patches 1.9 to 3.6.  Where both ways of asking took
 * the long loop: 0.92 to 0.98, and 1.00 to 1.01.  What lies around that is
 * neither: 0.86 and 1.10 were seen of short loops whose code lay across two
 * pages, where an emulator leaves its own loop each time.
 */
#define NO_LEAST  0.9
#define NO_MOST   1.05
#define YES_LEAST 1.6

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double duration(int pagemap, const char *mem, size_t len, bool shortly)
{
	struct wt_page_region found[1];
	double start = now();

	if (scan_written(pagemap, mem, len, shortly, found, 1))
		answer_unknown("memory that is armed reads written");
	return now() - start;
}

static double lesser(double a, double b)
{
	return a < b ? a : b;
}

/* In turn, so that what slows the one slows the other; the least of many. */
void ask_short_scan(const struct wtrack_probe *p)
{
	int uffd = uffd_async(p), pagemap = pagemap_open(p);
	size_t len = PAGES * page_bytes();
	char *mem = map_blocks(len);
	double quick = 1e18, slow = 1e18;

	store_pages(mem, PAGES, page_bytes());
	uffd_register(uffd, mem, len);
	uffd_protect(uffd, mem, len, true);
	for (int i = 0; i < PAIRS; i++) {
		quick = lesser(quick, duration(pagemap, mem, len, true));
		slow = lesser(slow, duration(pagemap, mem, len, false));
	}
	if (quick <= 0)
		answer_unknown("the clock is too coarse");
	if (slow / quick >= YES_LEAST)
		answer(true, "%.2f times as fast", slow / quick);
	if (slow / quick >= NO_LEAST && slow / quick <= NO_MOST)
		answer(false, "%.2f times as fast", slow / quick);
	answer_unknown("%.2f times as fast tells nothing", slow / quick);
}

/* ---- what is not there ---- */

/* Whether exactly pages [first, last) of the first `n` read written. */
static bool reads_written(int pagemap, const char *mem, size_t n, bool shortly,
			  size_t first, size_t last)
{
	uintptr_t base = (uintptr_t)mem;
	struct wt_page_region found[2];
	int regions =
		scan_written(pagemap, mem, n * page_bytes(), shortly, found, 2);

	return regions == 1 && found[0].start == base + first * page_bytes() &&
	       found[0].end == base + last * page_bytes();
}

void ask_reports_none(const struct wtrack_probe *p)
{
	int uffd = uffd_async(p), pagemap = pagemap_open(p);
	size_t page = page_bytes();
	char *mem = map_blocks(4 * page);
	bool quick, slow;

	store_pages(mem, 4, page);
	uffd_register(uffd, mem, 4 * page);
	uffd_protect(uffd, mem, 4 * page, true);
	madvise(mem + page, page, MADV_DONTNEED);
	quick = reads_written(pagemap, mem, 4, true, 1, 2);
	slow = reads_written(pagemap, mem, 4, false, 1, 2);
	answer(quick && slow, "asked for alone: %s; with others: %s",
	       quick ? "written" : "clean", slow ? "written" : "clean");
}

void ask_reports_hole(const struct wtrack_probe *p)
{
	int uffd = uffd_async(p), pagemap = pagemap_open(p);
	size_t pages = block_bytes() / page_bytes();
	char *mem = map_blocks(block_bytes());
	bool written;

	uffd_register(uffd, mem, block_bytes());
	written = reads_written(pagemap, mem, pages, true, 0, pages);
	answer(written, written ? "it reads written" : "it reads clean");
}
