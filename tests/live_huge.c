/* SPDX-License-Identifier: MIT */
/* live_huge.c: huge pages of each sort: split, kept whole, discarded, cut. */
#include "support_live.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define BOTH (WTRACK_GET | WTRACK_CLEAR)
#define HUGE wt_huge_size()

#define HUGE_SIZE_FILE "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"

static const char *lacks_huge_pages(void)
{
	return access(HUGE_SIZE_FILE, R_OK) ? "the kernel has no huge pages"
					    : NULL;
}

/* [K-page-table] The kernel's own word for it. */
static void a_huge_page_takes_the_place_of_a_page_table(void **state)
{
	FILE *f = fopen(HUGE_SIZE_FILE, "re");
	size_t bytes = 0;

	(void)state;
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%zu", &bytes), 1);
	fclose(f);
	assert_int_equal(wt_huge_size(), bytes);
	assert_int_equal(wt_page_entries() * wt_page_size(), bytes);
}

/* Three huge pages' worth, written, and thus huge where there is memory. */
static struct mem thp(void)
{
	struct mem m = mem_map(MEM_THP, 3 * wt_page_entries(), true);

	assert_int_equal((uintptr_t)m.base % HUGE, 0);
	madvise(m.base, 3 * HUGE, MADV_COLLAPSE);
	return m;
}

/* [G2] Anonymous huge pages are split by a store: one page is dirty. */
static void a_store_to_a_huge_page_dirties_one_page(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = thp();
	size_t n = wt_page_entries();

	watch_pages(t, &m, 0, m.pages, 0);
	expect_none(t, &m);
	store(&m, 3);
	store(&m, n + n / 2);
	expect_pages(t, &m, BOTH, 3, n + n / 2);
	expect_none(t, &m);
	store(&m, 2 * n - 1);
	store(&m, 2 * n);
	expect_pages(t, &m, BOTH, 2 * n - 1, 2 * n);
	wtrack_close(t);
	mem_unmap(&m);
}

static void huge_pages_that_come_later_are_tracked(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_THP, 3 * wt_page_entries(), false);
	size_t n = wt_page_entries();
	struct view v;

	watch_pages(t, &m, 0, m.pages, WTRACK_WATCH_DIRTY);
	store(&m, 0);
	store(&m, n + 1);
	view_collect(&v, t, &m, 8, BOTH);
	for (size_t i = 0; i < m.pages; i++)
		assert_int_not_equal(v.flags[i], 0);
	/* Armed whole now; the third was never there. */
	store(&m, 5);
	store(&m, n + 1);
	store(&m, 2 * n + 7);
	expect_pages(t, &m, BOTH, 5, n + 1, 2 * n + 7);
	/* Advice changes what the kernel may do, not what is known. */
	madvise(m.base, HUGE, MADV_NOHUGEPAGE);
	madvise(page_of(&m, n), HUGE, MADV_COLLAPSE);
	view_collect(&v, t, &m, 8, BOTH);
	store(&m, 6);
	store(&m, n + 9);
	view_collect(&v, t, &m, 8, BOTH);
	assert_int_not_equal(v.flags[6], 0);
	assert_int_not_equal(v.flags[n + 9], 0);
	wtrack_close(t);
	mem_unmap(&m);
}

static void a_range_may_begin_and_end_in_huge_pages(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = thp();
	size_t n = wt_page_entries();

	watch_pages(t, &m, n / 2, 2 * n, 0);
	store(&m, n / 2 - 1);
	store(&m, n / 2);
	store(&m, n + 3);
	store(&m, 2 * n + n / 2 - 1);
	store(&m, 2 * n + n / 2);
	expect_pages(t, &m, BOTH, n / 2, n + 3, 2 * n + n / 2 - 1);
	unwatch_pages(t, &m, n / 2, n);
	store(&m, n - 1);
	store(&m, 2 * n);
	expect_pages(t, &m, BOTH, 2 * n);
	wtrack_close(t);
	mem_unmap(&m);
}

/* A cursor that cuts a huge page clears its part and no more. [G6] */
static void a_huge_page_is_collected_in_parts(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = thp();
	struct wtrack_run runs[4];
	size_t n = wt_page_entries();

	watch_pages(t, &m, 0, m.pages, WTRACK_WATCH_DIRTY);
	clear_all(t);
	for (size_t i = 0; i < m.pages; i++)
		store(&m, i);
	for (size_t i = 0; i < m.pages; i += n / 4) {
		struct wtrack_cursor at = WTRACK_CURSOR_INIT;

		at.next = (uintptr_t)page_of(&m, i);
		at.end = (uintptr_t)page_of(&m, i + n / 4);
		assert_int_equal(wtrack_collect(t, &at, runs, 4, BOTH), 1);
		assert_int_equal(runs[0].start, page_of(&m, i));
		assert_int_equal(runs[0].end, at.end);
	}
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

static void a_huge_page_is_discarded(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = thp();
	size_t n = wt_page_entries();
	struct view v;

	watch_pages(t, &m, 0, m.pages, 0);
	madvise(page_of(&m, n), HUGE, MADV_DONTNEED);
	madvise(page_of(&m, 2 * n + 4), 8 * m.page, MADV_DONTNEED);
	for (int round = 0; round < 2; round++) {
		view_collect(&v, t, &m, 8, round ? BOTH : WTRACK_GET);
		for (size_t i = 0; i < m.pages; i++)
			assert_int_equal(
				v.flags[i] != 0,
				!is_precise(t) || (i >= n && i < 2 * n) ||
					(i >= 2 * n + 4 && i < 2 * n + 12));
	}
	expect_none(t, &m);
	store(&m, n + 1);
	expect_pages(t, &m, BOTH, n + 1);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Shared memory, in huge pages if the kernel can. */
static struct mem shared_thp(void)
{
	struct mem m = { NULL, 2 * wt_page_entries(), page_size(), -1 };
	char *room = mmap(NULL, 3 * HUGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(room, MAP_FAILED);
	m.base = room + (-(uintptr_t)room & (HUGE - 1));
	m.fd = memfd_create("wtrack-test", 1);
	assert_true(m.fd >= 0);
	assert_int_equal(ftruncate(m.fd, (off_t)(2 * HUGE)), 0);
	assert_ptr_equal(mmap(m.base, 2 * HUGE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED, m.fd, 0),
			 m.base);
	madvise(m.base, 2 * HUGE, MADV_HUGEPAGE);
	for (size_t i = 0; i < m.pages; i++)
		store(&m, i);
	madvise(m.base, 2 * HUGE, MADV_COLLAPSE);
	return m;
}

static void store_all(const struct mem *m)
{
	for (size_t i = 0; i < m->pages; i++)
		store(m, i);
}

/* Written whole and made huge while nothing is armed; then armed as such. */
static struct mem armed_shared_thp(struct wtrack *t)
{
	struct mem m = shared_thp();
	struct wtrack_run runs[4];

	watch_pages(t, &m, 0, m.pages, WTRACK_WATCH_DIRTY);
	clear_all(t);
	store_all(&m);
	madvise(m.base, 2 * HUGE, MADV_COLLAPSE);
	assert_true(wtrack_collect(t, NULL, runs, 4, BOTH) > 0);
	return m;
}

/* The kernel may drop a huge page of the page cache at the first store. */
static void shared_huge_pages_are_exact_or_coarse(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = armed_shared_thp(t);
	size_t n = wt_page_entries();

	expect_none(t, &m);
	store(&m, 3);
	expect_pages(t, &m, WTRACK_GET, 3);
	expect_pages(t, &m, BOTH, 3);
	expect_none(t, &m);
	store(&m, 4);
	store(&m, n);
	expect_pages(t, &m, BOTH, 4, n);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

/* The same, of which a cursor takes pages that were not written. [G2] */
static void a_part_of_a_coarse_block_says_so(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = armed_shared_thp(t);
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run run[2];
	ssize_t n;

	store(&m, 3);
	at.next = (uintptr_t)page_of(&m, 10);
	at.end = (uintptr_t)page_of(&m, 20);
	n = wtrack_collect(t, &at, run, 2, WTRACK_GET);
	for (ssize_t i = 0; i < n; i++)
		assert_int_not_equal(run[i].flags, WTRACK_RUN_WRITTEN);
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- hugetlb ---- */

static void a_hugetlb_page_is_the_grain(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_HUGETLB, 4, true);
	struct view v;

	assert_int_equal(wtrack_watch(t, m.base, page_size(), 0), -EINVAL);
	assert_int_equal(wtrack_watch(t, m.base + page_size(), m.page, 0),
			 -EINVAL);
	watch_pages(t, &m, 0, 4, 0);
	*(volatile char *)(page_of(&m, 2) - page_size()) = 1;
	view_collect(&v, t, &m, 8, WTRACK_GET);
	if (is_precise(t))
		assert_int_equal(v.flags[1],
				 WTRACK_RUN_WRITTEN | WTRACK_RUN_COARSE);
	expect_pages(t, &m, BOTH, 1);
	assert_int_equal(wtrack_unwatch(t, m.base, page_size()), -EINVAL);
	store(&m, 3);
	expect_pages(t, &m, BOTH, 3);
	unwatch_pages(t, &m, 1, 2);
	store(&m, 0);
	store(&m, 1);
	expect_pages(t, &m, BOTH, 0);
	wtrack_close(t);
	mem_unmap(&m);
}

/* [G1] A cursor in the middle of a huge page. */
static void a_cursor_inside_a_hugetlb_page_loses_nothing(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_HUGETLB, 4, true);
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[8];
	ssize_t n;

	watch_pages(t, &m, 0, 4, 0);
	store(&m, 1);
	store(&m, 2);
	at.next = (uintptr_t)m.base + page_size();
	at.end = (uintptr_t)page_of(&m, 2) + page_size();
	n = wtrack_collect(t, &at, runs, 8, BOTH);
	assert_true(n >= 1);
	/* Page 1 was in the part and may be clean now; of page 2 some was. */
	store(&m, 1);
	assert_true(is_dirty(t, page_of(&m, 1)));
	assert_true(is_dirty(t, page_of(&m, 2)) ||
		    runs[n - 1].end >= (uintptr_t)page_of(&m, 3));
	clear_all(t);
	clear_all(t);
	store(&m, 2);
	assert_true(is_dirty(t, page_of(&m, 2)));
	wtrack_close(t);
	mem_unmap(&m);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_IF(a_huge_page_takes_the_place_of_a_page_table,
			lacks_huge_pages),
		CASE_NEEDS_IF(a_store_to_a_huge_page_dirties_one_page, 0,
			      lacks_huge_memory),
		CASE_NEEDS_IF(huge_pages_that_come_later_are_tracked, 0,
			      lacks_huge_memory),
		CASE_NEEDS_IF(a_range_may_begin_and_end_in_huge_pages, 0,
			      lacks_huge_memory),
		CASE_NEEDS_IF(a_huge_page_is_collected_in_parts, 0,
			      lacks_huge_memory),
		CASE_NEEDS_IF(a_huge_page_is_discarded, WTRACK_CAP_DISCARD,
			      lacks_huge_memory),
		CASE_ON_KIND(shared_huge_pages_are_exact_or_coarse,
			     MEM_SHARED_ANON, 0, lacks_huge_memory),
		CASE_ON_KIND(a_part_of_a_coarse_block_says_so, MEM_SHARED_ANON,
			     WTRACK_CAP_PRECISE, lacks_huge_memory),
		CASE_ON_KIND(a_hugetlb_page_is_the_grain, MEM_HUGETLB, 0,
			     lacks_hugetlb),
		CASE_ON_KIND(a_cursor_inside_a_hugetlb_page_loses_nothing,
			     MEM_HUGETLB, 0, lacks_hugetlb),
	};

	return RUN_CASES("huge", cases);
}
