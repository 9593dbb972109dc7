/* SPDX-License-Identifier: MIT */
/*
 * case_hugetlb.c: a scan that cannot take a whole huge page of hugetlbfs stops
 * there, and says so.
 *
 * Kernels without the fix go on behind the page and say that they walked over
 * it: who goes on where the scan ended never sees it.
 */
#include "ktest.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define N               ((size_t)4)
#define PAGES           (N * HUGE_PAGES)
#define GET_ARM         (WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC)
#define AN_UNEVEN_LIMIT ((size_t)700)

static char *written_memory(void)
{
	char *start = map_hugetlb(N);

	for (size_t i = 0; i < N; i++)
		store(start + i * HUGE, i + 1);
	return start;
}

/* Where the scan ended, in pages from the start. */
static long scan_once(char *start, size_t from, size_t pages, size_t max_pages,
		      unsigned char *times)
{
	struct wt_page_region runs[16];
	struct wt_pm_scan_arg arg =
		scan_of(start + from * PAGE, pages * PAGE, runs, 16, GET_ARM);
	long n;

	arg.max_pages = max_pages;
	n = pagemap_scan(pagemap, &arg);
	check(n >= 0, "PAGEMAP_SCAN: %s", strerror(errno));
	for (long i = 0; i < n; i++)
		for (uint64_t a = runs[i].start; a < runs[i].end; a += PAGE)
			times[(a - (uintptr_t)start) / PAGE]++;
	return ((long)arg.walk_end - (long)(uintptr_t)start) / (long)PAGE;
}

/* What is reported is armed, and what is not is not. */
static void expect_atomic(char *start, const unsigned char *times)
{
	unsigned char left[PAGES] = { 0 };

	scan_pages(start, PAGES, 0, left);
	for (size_t i = 0; i < PAGES; i++)
		check(times[i] + left[i] == 1,
		      "page %zu was reported %u times and then %s", i, times[i],
		      left[i] ? "reads written" : "reads clean");
}

static void walk_end_of_clipped_page(void)
{
	unsigned char times[PAGES] = { 0 };
	char *start = written_memory();
	long end = scan_once(start, 0, PAGES, AN_UNEVEN_LIMIT, times);

	expect_atomic(start, times);
	check(times[HUGE_PAGES - 1] && !times[HUGE_PAGES],
	      "not the first huge page alone is reported");
	if (settings.fixed)
		check(end == HUGE_PAGES, "the walk ended at page %ld, not 512",
		      end);
	else
		check(end > (long)HUGE_PAGES,
		      "no bug: the walk ended at page %ld (is this kernel "
		      "fixed? then say --fixed)",
		      end);
}

/* Who resumes where the last scan ended must see each page once. */
static void resume_after_clipped_page(void)
{
	unsigned char times[PAGES] = { 0 };
	char *start = written_memory();
	size_t lost = 0;

	scan_limited(start, PAGES, GET_ARM, 16, AN_UNEVEN_LIMIT, times);
	for (size_t i = 0; i < PAGES; i++) {
		check(times[i] <= 1, "page %zu is reported %u times", i,
		      times[i]);
		lost += !times[i];
	}
	if (settings.fixed)
		check(lost == 0, "%zu written pages are jumped over", lost);
	else
		check(lost != 0, "no bug: all pages are reported (is this "
				 "kernel fixed? then say --fixed)");
}

static void limit_below_a_huge_page(void)
{
	unsigned char times[PAGES] = { 0 };
	char *start = written_memory();
	long end = scan_once(start, 0, PAGES, 100, times);

	expect_atomic(start, times);
	for (size_t i = 0; i < PAGES; i++)
		check(!times[i], "page %zu is reported", i);
	if (settings.fixed)
		check(end == 0, "the walk ended at page %ld, not 0", end);
	else
		check(end > 0, "no bug: the walk ended at page 0");
}

static void limit_of_whole_huge_pages(void)
{
	unsigned char times[PAGES] = { 0 };
	char *start = written_memory();

	scan_limited(start, PAGES, GET_ARM, 16, HUGE_PAGES, times);
	for (size_t i = 0; i < PAGES; i++)
		check(times[i] == 1, "page %zu is reported %u times", i,
		      times[i]);
	expect_clean("after the scan", start, PAGES);
}

/* Reading takes parts of huge pages, and goes on within them. */
static void limit_when_only_reading(void)
{
	unsigned char times[PAGES] = { 0 };
	char *start = written_memory();

	scan_limited(start, PAGES, 0, 16, AN_UNEVEN_LIMIT, times);
	for (size_t i = 0; i < PAGES; i++)
		check(times[i] == 1, "page %zu is reported %u times", i,
		      times[i]);
}

/* The range ends within a huge page: it cannot be armed, nor looped over. */
static void range_ends_in_a_huge_page(void)
{
	unsigned char times[PAGES] = { 0 };
	char *start = written_memory();
	long end = scan_once(start, 0, HUGE_PAGES * 3 / 2, 0, times);

	expect_atomic(start, times);
	check(times[0] == 1 && times[HUGE_PAGES] == 0 && end == HUGE_PAGES,
	      "page 0 %u times, page 512 %u times, walked to %ld", times[0],
	      times[HUGE_PAGES], end);
}

static void range_starts_in_a_huge_page(void)
{
	unsigned char times[PAGES] = { 0 };
	char *start = written_memory();

	scan_once(start, HUGE_PAGES / 2, PAGES - HUGE_PAGES / 2, 0, times);
	expect_atomic(start, times);
	check(!times[0], "the page that the range starts in is reported");
}

static void full_vector(void)
{
	unsigned char times[PAGES] = { 0 };
	char *start = written_memory();

	/* One run a call: the second written page does not fit. */
	arm(start + HUGE, HUGE, true);
	scan_limited(start, PAGES, GET_ARM, 1, 0, times);
	for (size_t i = 0; i < PAGES; i++)
		check(times[i] == (i / HUGE_PAGES != 1),
		      "page %zu is reported %u times", i, times[i]);
	expect_clean("after the scan", start, PAGES);
	store(start + HUGE + PAGE, 1);
	memset(times, 0, PAGES);
	memset(times + HUGE_PAGES, 1, HUGE_PAGES);
	expect_scan("after a store", start, times, PAGES);
}

static void armed_while_empty(void)
{
	unsigned char want[PAGES] = { 0 };
	char *start = map_hugetlb(N);

	arm(start, N * HUGE, true);
	expect_clean("armed while empty", start, PAGES);
	store(start + 2 * HUGE + 5 * PAGE, 1);
	memset(want + 2 * HUGE_PAGES, 1, HUGE_PAGES);
	expect_scan("after a store", start, want, PAGES);
	expect_clean("after the scan", start, PAGES);
}

/* The child has the pages but not the tracking; the parent keeps both. */
static void forked(void)
{
	unsigned char want[PAGES] = { 0 };
	char *start = written_memory();
	int status = 0;
	pid_t child;

	expect_written("at first", start, PAGES);
	child = fork();
	if (child == 0) {
		store(start, 77);
		_exit(load(start + HUGE) == 2 ? 0 : 1);
	}
	check(child > 0 && waitpid(child, &status, 0) == child, "fork");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)
		skip("no huge page left for the child");
	check(status == 0, "the child reads other contents");
	check(load(start) == 1, "the child's store is seen in the parent");
	expect_clean("after the child", start, PAGES);
	store(start + 3 * HUGE, 9);
	memset(want + 3 * HUGE_PAGES, 1, HUGE_PAGES);
	expect_scan("after a store", start, want, PAGES);
}

const struct test hugetlb_tests[] = {
	{ "hugetlb_walk_end_of_clipped_page", walk_end_of_clipped_page },
	{ "hugetlb_resume_after_clipped_page", resume_after_clipped_page },
	{ "hugetlb_limit_below_a_huge_page", limit_below_a_huge_page },
	{ "hugetlb_limit_of_whole_huge_pages", limit_of_whole_huge_pages },
	{ "hugetlb_limit_when_only_reading", limit_when_only_reading },
	{ "hugetlb_range_ends_in_a_huge_page", range_ends_in_a_huge_page },
	{ "hugetlb_range_starts_in_a_huge_page", range_starts_in_a_huge_page },
	{ "hugetlb_full_vector", full_vector },
	{ "hugetlb_armed_while_empty", armed_while_empty },
	{ "hugetlb_forked", forked },
	{ 0 },
};
