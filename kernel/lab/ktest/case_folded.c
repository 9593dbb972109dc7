/* SPDX-License-Identifier: MIT */
/*
 * case_folded.c: pages of one folio that lie together, whose entries some
 * machines fold into blocks: scans that end within a block report and arm what
 * they would of single pages.
 */
#include "ktest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGES   (2 * HUGE_PAGES)
#define GET_ARM (WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC)

/* At both sides of the borders of blocks of 16, and of page tables. */
static const size_t places[] = { 0,   1,   5,   15,  16,   17,   31,   32,
				 40,  48,  510, 511, 512,  513,  527,  528,
				 530, 544, 777, 784, 1007, 1008, 1023, 1024 };

#define PLACES (sizeof(places) / sizeof(places[0]))

static void protect(char *start, size_t size, int protection)
{
	check(mprotect(start, size, protection) == 0, "mprotect: %s",
	      strerror(errno));
}

/* Huge pages that are mapped in small ones, as part of each had for a moment
 * another protection.  All read written. */
static char *folded_memory(void)
{
	char *start = map(KIND_THP, PAGES * PAGE);

	populate_thp(start, PAGES * PAGE);
	for (size_t i = 0; i < PAGES; i += HUGE_PAGES) {
		protect(start + i * PAGE, PAGE, PROT_READ);
		protect(start + i * PAGE, PAGE, PROT_READ | PROT_WRITE);
	}
	for (size_t i = 0; i < PAGES; i++)
		store(start + i * PAGE, i);
	check(thp_bytes() == 0, "huge pages were not split");
	return start;
}

static void check_values(const char *start)
{
	for (size_t i = 0; i < PAGES; i++)
		check(load(start + i * PAGE) == i, "page %zu holds %llu", i,
		      (unsigned long long)load(start + i * PAGE));
}

/* Arms what reads written, by a scan of this kind; all of it is reported. */
static void arm_by_scan(char *start, int way)
{
	struct wt_page_region run;
	struct wt_pm_scan_arg arg =
		scan_of(start, PAGES * PAGE, &run, 1, GET_ARM);
	long n;

	if (way == 1) {
		arg.vec = 0;
		arg.vec_len = 0;
	} else if (way == 2) {
		/* What no short loop is for. */
		arg.return_mask |= WT_PAGE_IS_PRESENT;
	}
	n = pagemap_scan(pagemap, &arg);
	check(n == (way == 1 ? 0 : 1), "PAGEMAP_SCAN: %ld, %s", n,
	      strerror(errno));
	check(way == 1 || (run.start == arg.start && run.end == arg.end &&
			   run.categories == arg.return_mask),
	      "the run that is reported is another");
}

/* Then only what is stored to is reported, in each block another set. */
static void whole(void)
{
	for (int way = 0; way < 3; way++) {
		char *start = folded_memory();
		unsigned char *want = new_set(PAGES);

		arm_by_scan(start, way);
		expect_clean("armed", start, PAGES);
		for (size_t i = 0; i < PAGES; i += 1 + i % 37) {
			store(start + i * PAGE, i);
			want[i] = 1;
		}
		expect_scan("stored to", start, want, PAGES);
		expect_clean("scanned", start, PAGES);
		check_values(start);
		free(want);
	}
}

static void ranges(void)
{
	char *start = folded_memory();

	for (size_t i = 0; i < PLACES * PLACES; i++) {
		size_t from = places[i / PLACES], to = places[i % PLACES];
		unsigned char *want;

		if (from >= to)
			continue;
		want = new_set(PAGES);
		memset(want, 1, PAGES);
		arm(start, PAGES * PAGE, false);
		expect_part(start, PAGES, from, to, want);
		free(want);
	}
	check_values(start);
}

/* Each page is reported once, whatever a call may report at most. */
static void limits(void)
{
	char *start = folded_memory();
	unsigned char *want = new_set(PAGES);

	memset(want, 1, PAGES);
	for (size_t most = 1; most <= 50; most++) {
		unsigned char *got = new_set(PAGES);

		arm(start, PAGES * PAGE, false);
		scan_limited(start, PAGES, 0, 1 + most % 3, most, got);
		expect_pages("read", got, want, PAGES);
		memset(got, 0, PAGES);
		scan_limited(start, PAGES, GET_ARM, 1 + most % 3, most, got);
		expect_pages("armed", got, want, PAGES);
		expect_clean("all armed", start, PAGES);
		free(got);
	}
	check_values(start);
	free(want);
}

/* One page, and none of its block. */
static void single(void)
{
	char *start = folded_memory();

	arm_by_scan(start, 0);
	for (size_t i = 0; i < PLACES - 1; i++) {
		unsigned char *want = new_set(PAGES), *got = new_set(PAGES);

		store(start + places[i] * PAGE, places[i]);
		want[places[i]] = 1;
		scan_pages(start, PAGES, 0, got);
		expect_pages("one page", got, want, PAGES);
		expect_scan("one page", start, want, PAGES);
		expect_clean("scanned", start, PAGES);
		free(want);
		free(got);
	}
	check_values(start);
}

const struct test folded_tests[] = {
	{ "folded_whole", whole },
	{ "folded_ranges", ranges },
	{ "folded_limits", limits },
	{ "folded_single", single },
	{ 0 },
};
