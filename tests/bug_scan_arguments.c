/* SPDX-License-Identifier: MIT */
/*
 * bug_scan_arguments.c: what the kernel is asked, and what it must not be.
 *
 * checkpoint-restore/criu#2334: a category that the kernel does not know is
 * EINVAL.  linux "for unpopulated ptes" (7.2): only one mask reads as written
 * what was never there.  linux "check p->vec_buf for NULL": a scan without an
 * array crashes the kernel.  linux PATCH v8 11/15: outside of what is
 * registered, "written" means nothing.
 */
#include "support.h"

#include "sys.h"
#include "uapi.h"

#include <sys/mman.h>

#define N 64

static char *area;     /* N pages, of which every second four are watched */
static int scans;      /* that look for what was written */
static int arms;       /* of which so many clear */
static bool may_clear; /* the caller asked for it */
static uint64_t lost;  /* a page that is known not to be registered; 0: none */

/* Watched: [0, 4), [8, 12) and so on. */
static bool is_watched(uint64_t addr)
{
	return ((addr - (uintptr_t)area) / page_size() / 4) % 2 == 0;
}

static void check_range(const struct wt_pm_scan_arg *a)
{
	uint64_t start = (uintptr_t)area, end = start + N * page_size();

	CHECK(a->start % page_size() == 0 && a->end % page_size() == 0);
	CHECK(a->start < a->end);
	CHECK(a->start >= start && a->end <= end);
	/* Never over what is not watched, unless to ask what is. */
	for (uint64_t at = a->start; at < a->end; at += page_size())
		CHECK(is_watched(at) && at != lost);
}

static bool check_scan(enum wt_sys id, const long args[6], long *result)
{
	const struct wt_pm_scan_arg *a = (const void *)args[2];
	bool clear;

	(void)result;
	if (id != WT_SYS_IOCTL || args[1] != (long)WT_PAGEMAP_SCAN)
		return false;
	clear = a->flags & WT_PM_WP_MATCHING;
	CHECK(a->size == 96);
	CHECK(a->vec && a->vec_len);
	CHECK(!a->max_pages && !a->category_inverted &&
	      !a->category_anyof_mask);
	CHECK(!(a->flags & ~(WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC)));
	CHECK(a->category_mask == a->return_mask);
	CHECK(may_clear || !clear);
	if (a->category_mask == WT_PAGE_IS_WPALLOWED) {
		CHECK(!clear);
		return false;
	}
	CHECK(a->category_mask == WT_PAGE_IS_WRITTEN);
	CHECK(a->flags & WT_PM_CHECK_WPASYNC);
	check_range(a);
	scans++;
	arms += clear;
	return false;
}

static struct wtrack *watch_islands(void)
{
	struct wtrack *t = open_on("scan");

	area = map_pages(N);
	for (size_t i = 0; i < N; i += 8)
		assert_int_equal(wtrack_watch(t, area + i * page_size(),
					      4 * page_size(), 0),
				 0);
	return t;
}

static void end(struct wtrack *t)
{
	at_the_door(NULL);
	wtrack_close(t);
	unmap_pages(area, N);
}

static void write_some(void)
{
	for (size_t i = 0; i < N; i += 3)
		touch(area, i);
}

static void start_checking(bool clear)
{
	scans = arms = 0;
	may_clear = clear;
	at_the_door(check_scan);
}

static void a_look_never_arms(void **state)
{
	struct wtrack *t = watch_islands();
	struct wtrack_range_info info = { .size = sizeof(info) };

	(void)state;
	write_some();
	start_checking(false);
	collect_all(t, WTRACK_GET);
	collect_all(t, WTRACK_GET | WTRACK_STOPPED);
	assert_int_equal(wtrack_query(t, area, &info), 0);
	assert_true(scans > 0);
	assert_int_equal(arms, 0);
	end(t);
}

static void a_clearing_scan_is_the_one_that_every_kernel_does_well(void **state)
{
	struct wtrack *t = watch_islands();
	struct wtrack_snapshot *s = NULL;

	(void)state;
	start_checking(true);
	for (int i = 0; i < 3; i++) {
		write_some();
		collect_all(t, WTRACK_GET | WTRACK_CLEAR);
		write_some();
		clear_all(t);
		write_some();
		assert_int_equal(wtrack_snapshot(t, &s), 0);
	}
	assert_true(arms >= 9);
	wtrack_snapshot_free(s);
	end(t);
}

/*
 * A clearing scan over a page inside that was replaced fails, and has
 * consumed what lies before it.  That happens once.
 */
static void a_lost_part_is_not_scanned_twice(void **state)
{
	struct wtrack *t = watch_islands();
	char *p = area + 2 * page_size();

	(void)state;
	assert_ptr_equal(mmap(p, page_size(), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 p);
	write_some();
	start_checking(true);
	collect_all(t, WTRACK_GET | WTRACK_CLEAR);
	lost = (uintptr_t)p;
	for (int i = 0; i < 3; i++) {
		write_some();
		assert_dirty_superset(t, area, PAGES(0, 2, 3, 9, 18));
		assert_int_equal(flags_at(t, p), WTRACK_RUN_LOST);
		clear_all(t);
	}
	lost = 0;
	end(t);
}

/* Many small scans are what makes many ranges dear. */
static void adjacent_ranges_are_one_scan(void **state)
{
	struct wtrack *t = open_on("scan");

	(void)state;
	area = map_pages(4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			wtrack_watch(t, area + i * page_size(), page_size(), 0),
			0);
	touch(area, 0);
	touch(area, 3);
	start_checking(true);
	assert_int_equal(collect_all(t, WTRACK_GET | WTRACK_CLEAR).n, 2);
	assert_int_equal(scans, 1);
	at_the_door(NULL);
	wtrack_close(t);
	unmap_pages(area, 4);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_IF(a_look_never_arms, lacks_scan),
		CASE_IF(a_clearing_scan_is_the_one_that_every_kernel_does_well,
			lacks_scan),
		CASE_IF(a_lost_part_is_not_scanned_twice, lacks_scan),
		CASE_IF(adjacent_ranges_are_one_scan, lacks_scan),
	};

	return RUN_CASES("scan_arguments", cases);
}
