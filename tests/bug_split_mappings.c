/* SPDX-License-Identifier: MIT */
/*
 * bug_split_mappings.c: one watched range, several mappings.
 *
 * bdwgc/bdwgc PR#961: Linux 6.1 refuses to write-protect a range that
 * MADV_DONTDUMP has split, and the process aborts.  linux 6707915e030a (stable
 * 6.18): written bits are lost when mappings merge.  linux "fix
 * ioctl(PAGEMAP_SCAN) on vma check": an unregistered part stops the rest.
 */
#include "support.h"

#include "sys.h"
#include "uapi.h"

#include <string.h>
#include <sys/mman.h>

#define N 24

/* ---- split by an advice ---- */

static void split(char *p)
{
	assert_int_equal(
		madvise(p + 8 * page_size(), 8 * page_size(), MADV_DONTDUMP),
		0);
}

static void merge(char *p)
{
	assert_int_equal(
		madvise(p + 8 * page_size(), 8 * page_size(), MADV_DODUMP), 0);
}

static void touch_border_pages(char *p)
{
	touch(p, 7);
	touch(p, 8);
	touch(p, 15);
	touch(p, 16);
	touch(p, 20);
}

static void a_range_that_is_split_can_be_watched(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_pages(N);

	split(p);
	assert_int_equal(wtrack_watch(t, p, N * page_size(), 0), 0);
	assert_clean(t);
	touch_border_pages(p);
	assert_dirty(t, p, 7, 8, 15, 16, 20);
	/* Borders of mappings are not borders of runs. */
	if (caps_of(t) & WTRACK_CAP_PRECISE)
		assert_int_equal(collect_all(t, WTRACK_GET).n, 3);
	clear_all(t);
	assert_clean(t);
	assert_int_equal(wtrack_unwatch(t, p, N * page_size()), 0);
	wtrack_close(t);
	unmap_pages(p, N);
}

static void splitting_and_merging_loses_no_bits(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, N);

	for (int epoch = 0; epoch < 3; epoch++) {
		touch(p, 3);
		touch(p, 10);
		split(p);
		assert_dirty(t, p, 3, 10);
		touch_border_pages(p);
		assert_dirty(t, p, 3, 7, 8, 10, 15, 16, 20);
		merge(p);
		assert_dirty(t, p, 3, 7, 8, 10, 15, 16, 20);
		clear_all(t);
		assert_clean(t);
		touch(p, 12);
		split(p);
		clear_all(t);
		assert_clean(t);
		merge(p);
		touch_border_pages(p);
		assert_dirty(t, p, 7, 8, 15, 16, 20);
		clear_all(t);
	}
	wtrack_close(t);
	unmap_pages(p, N);
}

/* Kernels before 6.12: UFFDIO_WRITEPROTECT over several mappings fails. */
static bool only_one_mapping(enum wt_sys id, const long args[6], long *result)
{
	const struct wt_uffdio_writeprotect *wp = (const void *)args[2];

	if (id != WT_SYS_IOCTL || args[1] != (long)WT_UFFDIO_WRITEPROTECT ||
	    wp->range.len <= 8 * page_size())
		return false;
	*result = -ENOENT;
	return true;
}

static void where_each_mapping_is_armed_by_itself_it_works_too(void **state)
{
	struct wtrack *t = open_on("scan");
	char *p = map_pages(N);

	(void)state;
	split(p);
	at_the_door(only_one_mapping);
	assert_int_equal(wtrack_watch(t, p, N * page_size(), 0), 0);
	assert_clean(t);
	touch_border_pages(p);
	assert_dirty(t, p, 7, 8, 15, 16, 20);
	clear_all(t);
	assert_clean(t);
	assert_int_equal(wtrack_mark(t, p + 7 * page_size(), 10 * page_size()),
			 0);
	assert_dirty(t, p, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
	clear_all(t);
	assert_clean(t);
	at_the_door(NULL);
	wtrack_close(t);
	unmap_pages(p, N);
}

/* ---- split by protection ---- */

static void parts_of_other_protection_lose_nothing(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_pages(N);
	size_t page = page_size();

	mprotect(p + 4 * page, 4 * page, PROT_READ);
	mprotect(p + 12 * page, 4 * page, PROT_NONE);
	assert_int_equal(wtrack_watch(t, p, N * page, 0), 0);
	touch(p, 3);
	touch(p, 8);
	touch(p, 11);
	touch(p, 16);
	assert_dirty(t, p, 3, 8, 11, 16);
	clear_all(t);
	assert_clean(t);
	/* What was read-only stays so: the library gives no rights. */
	assert_int_equal(wtrack_unwatch(t, p, N * page), 0);
	touch(p, 3);
	mprotect(p, N * page, PROT_READ | PROT_WRITE);
	wtrack_close(t);
	unmap_pages(p, N);
}

/* ---- watched beside unwatched ---- */

static void a_mapping_that_grows_in_place_loses_nothing(void **state)
{
	struct wtrack *t = open_on(*state);
	size_t page = page_size();
	char *p = map_pages(2 * N);

	assert_int_equal(wtrack_watch(t, p, N * page, 0), 0);
	touch(p, 1);
	touch(p, N - 1);
	/* Only now, or the library's own memory would take its place. */
	unmap_pages(p + N * page, N);
	assert_ptr_equal(mremap(p, N * page, 2 * N * page, 0), p);
	assert_dirty(t, p, 1, N - 1);
	clear_all(t);
	assert_clean(t);
	/* The new part is not watched until it is asked for. */
	touch(p, N);
	assert_clean(t);
	assert_int_equal(wtrack_watch(t, p + N * page, N * page, 0), 0);
	touch(p, N + 1);
	touch(p, 2);
	assert_dirty(t, p, 2, N + 1);
	wtrack_close(t);
	unmap_pages(p, 2 * N);
}

/* A page inside that belongs to nobody any more stops nothing. */
static void an_unregistered_page_in_the_middle_takes_nothing_along(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, N);
	size_t page = page_size();

	touch(p, 2);
	touch(p, 20);
	assert_ptr_equal(mmap(p + 10 * page, page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 p + 10 * page);
	assert_dirty_superset(t, p, PAGES(2, 10, 20));
	assert_int_equal(flags_at(t, p + 10 * page), WTRACK_RUN_LOST);
	assert_int_equal(flags_at(t, p + 2 * page), WTRACK_RUN_WRITTEN);
	assert_false(is_dirty(t, p + 11 * page));
	clear_all(t);
	touch(p, 9);
	touch(p, 11);
	assert_dirty_superset(t, p, PAGES(9, 11));
	assert_false(is_dirty(t, p + 2 * page));
	assert_int_equal(wtrack_unwatch(t, p + 10 * page, page), 0);
	assert_int_equal(wtrack_watch(t, p + 10 * page, page, 0), 0);
	clear_all(t);
	assert_clean(t);
	touch(p, 10);
	assert_dirty(t, p, 10);
	wtrack_close(t);
	unmap_pages(p, N);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(a_range_that_is_split_can_be_watched),
		CASE_EACH(splitting_and_merging_loses_no_bits),
		CASE_IF(where_each_mapping_is_armed_by_itself_it_works_too,
			lacks_scan),
		CASE_EACH(parts_of_other_protection_lose_nothing),
		CASE_NEEDS(a_mapping_that_grows_in_place_loses_nothing,
			   WTRACK_CAP_PROTECT),
		CASE_NEEDS(
			an_unregistered_page_in_the_middle_takes_nothing_along,
			WTRACK_CAP_LOSS),
	};

	return RUN_CASES("split_mappings", cases);
}
