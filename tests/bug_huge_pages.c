/* SPDX-License-Identifier: MIT */
/*
 * bug_huge_pages.c: one byte written to a huge page, and pages of other sizes.
 *
 * google/gvisor PR#12805: with transparent huge pages one byte makes 512 pages
 * dirty.  dotnet/coreclr#9517 and PR#11413, Vita3K/Vita3K PR#3860: a tracker
 * takes every page for 4 KiB.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define PAGES_IN_HUGE wt_page_entries()
#define BLOCKS        3

/* Whether there is a huge page at `p`, as /proc/self/smaps has it. */
static bool is_huge(const char *p)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	bool here = false;
	size_t kib = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long start, end;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = start <= (uintptr_t)p && (uintptr_t)p < end;
		else if (here && sscanf(line, "AnonHugePages: %zu", &kib) == 1)
			break;
	}
	fclose(f);
	return kib >= wt_huge_size() / 1024;
}

/* Watched, and clean. */
static struct mem huge_memory(struct wtrack *t)
{
	struct mem m = mem_map(MEM_THP, BLOCKS * PAGES_IN_HUGE, true);

	if (!is_huge(m.base))
		print_message("# no transparent huge pages here\n");
	assert_int_equal(wtrack_watch(t, m.base, m.pages * m.page, 0), 0);
	assert_clean(t);
	return m;
}

/* [G2] Exactly this page; more only where the run says that it is coarse. */
static void assert_one_page(struct wtrack *t, const struct mem *m, size_t page)
{
	uintptr_t at = (uintptr_t)m->base + page * m->page;
	struct run_list l = collect_all(t, WTRACK_GET);

	assert_true(is_dirty(t, (void *)at));
	if (!(caps_of(t) & WTRACK_CAP_PRECISE))
		return;
	l = collect_all(t, WTRACK_GET);
	assert_int_equal(l.n, 1);
	if (l.at[0].start == at && l.at[0].end == at + m->page)
		return;
	assert_true(l.at[0].flags & WTRACK_RUN_COARSE);
	assert_int_equal(l.at[0].end - l.at[0].start, wt_huge_size());
}

static void one_byte_in_a_huge_page_is_a_page_or_says_more(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = huge_memory(t);

	for (size_t block = 0; block < BLOCKS; block++) {
		size_t page = block * PAGES_IN_HUGE + 7 * block;

		touch(m.base, page);
		assert_one_page(t, &m, page);
		clear_all(t);
		assert_clean(t);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

static void without_huge_pages_it_is_exactly_a_page(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_THP, PAGES_IN_HUGE, false);

	madvise(m.base, m.pages * m.page, MADV_NOHUGEPAGE);
	touch(m.base, 0);
	assert_int_equal(wtrack_watch(t, m.base, m.pages * m.page, 0), 0);
	touch(m.base, 100);
	assert_dirty(t, m.base, 100);
	wtrack_close(t);
	mem_unmap(&m);
}

/* What is dirty may become a huge page again; nothing is lost by it. */
static void collapsing_loses_no_store(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = huge_memory(t);
	size_t len = m.pages * m.page;

	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < PAGES_IN_HUGE; i++)
			touch(m.base, i);
		touch(m.base, PAGES_IN_HUGE + 3);
		/* Fails where a page is armed; that is as good. */
		madvise(m.base, len, MADV_COLLAPSE);
		assert_true(is_dirty(t, m.base));
		assert_true(is_dirty(t, m.base + (PAGES_IN_HUGE - 1) * m.page));
		assert_true(is_dirty(t, m.base + (PAGES_IN_HUGE + 3) * m.page));
		clear_all(t);
		assert_clean(t);
		touch(m.base, 1);
		touch(m.base, 2 * PAGES_IN_HUGE);
		assert_dirty_superset(t, m.base, PAGES(1, 2 * PAGES_IN_HUGE));
		clear_all(t);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* A collection that ends inside of a huge page. */
static void part_of_a_huge_page_is_collected_by_itself(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = huge_memory(t);
	uintptr_t base = (uintptr_t)m.base;
	struct wtrack_cursor at = { base + 8 * m.page, base + 16 * m.page, 0,
				    0 };
	struct wtrack_run runs[4];

	for (size_t i = 0; i < 32; i++)
		touch(m.base, i);
	assert_int_equal(
		wtrack_collect(t, &at, runs, 4, WTRACK_GET | WTRACK_CLEAR), 1);
	assert_int_equal(runs[0].start, base + 8 * m.page);
	assert_int_equal(runs[0].end, base + 16 * m.page);
	for (size_t i = 0; i < 32; i++)
		if (i < 8 || i >= 16)
			assert_true(is_dirty(t, m.base + i * m.page));
	wtrack_close(t);
	mem_unmap(&m);
}

static void the_page_size_is_the_systems(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 4);
	struct wtrack_range_info range = { .size = sizeof(range) };
	struct wtrack_info info = { .size = sizeof(info) };
	struct wtrack_run run;

	assert_int_equal(wtrack_info(t, &info), 0);
	assert_int_equal(info.page_size, page_size());
	assert_int_equal(wtrack_query(t, p, &range), 0);
	assert_int_equal(range.grain, page_size());
	touch(p, 1);
	assert_int_equal(wtrack_collect(t, NULL, &run, 1, WTRACK_GET), 1);
	if (info.caps & WTRACK_CAP_PRECISE)
		assert_int_equal(run.end - run.start, page_size());
	wtrack_close(t);
	unmap_pages(p, 4);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_NEEDS_IF(one_byte_in_a_huge_page_is_a_page_or_says_more, 0,
			      lacks_huge_memory),
		CASE_EACH(without_huge_pages_it_is_exactly_a_page),
		CASE_NEEDS_IF(collapsing_loses_no_store, 0, lacks_huge_memory),
		CASE_NEEDS_IF(part_of_a_huge_page_is_collected_by_itself, 0,
			      lacks_huge_memory),
		CASE_EACH(the_page_size_is_the_systems),
	};

	return RUN_CASES("huge_pages", cases);
}
