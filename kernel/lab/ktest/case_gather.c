/* SPDX-License-Identifier: MIT */
/*
 * case_gather.c: one scan over many page tables and mappings, which flushes
 * once for many of them, reports and arms exactly.
 */
#include "scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GET_ARM (WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC)

static void check_scene(const struct scene *s, const char *what,
			const unsigned char *want)
{
	expect_scan(what, s->start, want, s->pages);
	expect_clean("scanned again", s->start, s->pages);
}

static void everything_at_first(void)
{
	struct scene s = make_scene();

	expect_written("at first", s.start, s.pages);
	expect_clean("scanned again", s.start, s.pages);
}

static void sparse(void)
{
	struct scene s = make_scene();
	struct dice dice = { settings.seed };

	expect_written("at first", s.start, s.pages);
	for (int round = 0; round < 20; round++) {
		unsigned char *want = new_set(s.pages);

		store_some(&s, 1 + (size_t)round, &dice, want);
		if (round % 4 == 3)
			scene_swap_out(&s);
		check_scene(&s, "sparse", want);
		free(want);
	}
}

static void dense(void)
{
	struct scene s = make_scene();

	expect_written("at first", s.start, s.pages);
	for (size_t step = 1; step <= 9; step++) {
		unsigned char *want = new_set(s.pages);

		store_every(&s, step, step / 2, want);
		check_scene(&s, "dense", want);
		free(want);
	}
}

/*
 * More runs than the kernel collects at once, and than the caller has room
 * for: it stops in the middle, where nothing may be armed unreported.
 */
static void full_vectors(void)
{
	static const size_t rooms[] = { 1, 3, 64, 511, 512, 513, 1025 };
	struct scene s = make_scene();

	expect_written("at first", s.start, s.pages);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		unsigned char *want = new_set(s.pages);
		unsigned char *got = new_set(s.pages);

		store_every(&s, 2, i % 2, want);
		scan_limited(s.start, s.pages, GET_ARM, rooms[i], 0, got);
		expect_pages("full vector", got, want, s.pages);
		expect_clean("scanned again", s.start, s.pages);
		free(want);
		free(got);
	}
}

static void limits_of_pages(void)
{
	static const size_t limits[] = { 1, 7, 512, 513, 1000 };
	struct scene s = make_scene();

	expect_written("at first", s.start, s.pages);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		unsigned char *want = new_set(s.pages);
		unsigned char *got = new_set(s.pages);

		store_every(&s, 1 + i % 3, 0, want);
		scan_limited(s.start, s.pages, GET_ARM, 700, limits[i], got);
		expect_pages("limit of pages", got, want, s.pages);
		expect_clean("scanned again", s.start, s.pages);
		free(want);
		free(got);
	}
}

/* Masks that no short loop is for must give the same pages. */
static void other_masks(void)
{
	struct scene s = make_scene();
	struct wt_page_region *runs = calloc(s.pages, sizeof(*runs));
	struct dice dice = { settings.seed };

	check(runs, "no memory");
	expect_written("at first", s.start, s.pages);
	for (int round = 0; round < 8; round++) {
		unsigned char *want = new_set(s.pages);
		unsigned char *got = new_set(s.pages);
		struct wt_pm_scan_arg arg = scan_of(s.start, s.pages * PAGE,
						    runs, s.pages, GET_ARM);
		long n;

		if (round % 2)
			store_some(&s, 9, &dice, want);
		else
			store_every(&s, 3, (size_t)round % 3, want);
		arg.return_mask |= WT_PAGE_IS_PRESENT;
		if (round & 2) {
			arg.category_anyof_mask = WT_PAGE_IS_WRITTEN;
			arg.category_mask = 0;
		}
		n = pagemap_scan(pagemap, &arg);
		check(n >= 0, "PAGEMAP_SCAN: %s", strerror(errno));
		for (long i = 0; i < n; i++)
			for (uint64_t a = runs[i].start; a < runs[i].end;
			     a += PAGE)
				got[(a - (uintptr_t)s.start) / PAGE]++;
		expect_pages("other masks", got, want, s.pages);
		expect_clean("scanned again", s.start, s.pages);
		free(want);
		free(got);
	}
}

/* Without a vector everything is armed. */
static void arm_alone(void)
{
	struct scene s = make_scene();
	unsigned char *want = new_set(s.pages);
	struct wt_pm_scan_arg arg =
		scan_of(s.start, s.pages * PAGE, NULL, 0, GET_ARM);

	check(pagemap_scan(pagemap, &arg) == 0, "PAGEMAP_SCAN: %s",
	      strerror(errno));
	expect_clean("armed without a vector", s.start, s.pages);
	store_every(&s, 5, 0, want);
	check_scene(&s, "after stores", want);
}

/* Scans of parts arm nothing before and behind them. */
static void parts_of_a_range(void)
{
	struct scene s = make_scene();
	struct dice dice = { settings.seed };
	unsigned char *written = new_set(s.pages);

	memset(written, 1, s.pages);
	for (int round = 0; round < 60; round++) {
		unsigned char *got = new_set(s.pages);
		size_t from = roll(&dice, s.pages - 1);
		size_t n = 1 + roll(&dice, s.pages - from);

		scan_pages(s.start + from * PAGE, n, GET_ARM, got + from);
		for (size_t i = 0; i < s.pages; i++) {
			bool in = i >= from && i < from + n;

			check(got[i] == (in && written[i]) || settings.coarse,
			      "page %zu of [%zu, %zu) is reported %u times", i,
			      from, from + n, got[i]);
			check(got[i] || !in || !written[i],
			      "page %zu of [%zu, %zu) is not reported", i, from,
			      from + n);
			written[i] = in ? 0 : written[i];
		}
		free(got);
		store_some(&s, roll(&dice, 20), &dice, written);
	}
	expect_scan("all of it", s.start, written, s.pages);
}

/* More runs than the kernel collects at once: where did it end? */
static void walk_end_of_many_runs(void)
{
	const size_t pages = 3 * HUGE_PAGES;
	char *start = map(KIND_ANON, pages * PAGE);
	struct wt_page_region *runs = calloc(pages, sizeof(*runs));
	struct wt_pm_scan_arg arg =
		scan_of(start, pages * PAGE, runs, pages, GET_ARM);
	long n;

	check(runs, "no memory");
	arm(start, pages * PAGE, true);
	for (size_t i = 0; i < pages; i += 2)
		store(start + i * PAGE, 1);
	n = pagemap_scan(pagemap, &arg);
	check(n == (long)pages / 2 || settings.coarse, "%ld runs", n);
	expect_clean("scanned again", start, pages);
	if (settings.fixed)
		check(arg.walk_end == arg.end,
		      "the whole range is walked, but walk_end is page %zu",
		      (size_t)(arg.walk_end - arg.start) / PAGE);
	else
		check(arg.walk_end < arg.end || settings.coarse,
		      "no bug: walk_end is the end (is this kernel fixed? then "
		      "say --fixed)");
}

const struct test gather_tests[] = {
	{ "gather_everything_at_first", everything_at_first },
	{ "gather_sparse", sparse },
	{ "gather_dense", dense },
	{ "gather_full_vectors", full_vectors },
	{ "gather_limits_of_pages", limits_of_pages },
	{ "gather_walk_end_of_many_runs", walk_end_of_many_runs },
	{ "gather_other_masks", other_masks },
	{ "gather_arm_alone", arm_alone },
	{ "gather_parts_of_a_range", parts_of_a_range },
	{ 0 },
};
