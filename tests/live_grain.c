/* SPDX-License-Identifier: MIT */
/*
 * live_grain.c: a grain of more than a page: one store makes all of it dirty,
 * and a huge page stays whole.
 */
#include "support_live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define BOTH (WTRACK_GET | WTRACK_CLEAR)
/* The largest there is. */
#define GRAIN_MOST ((size_t)2 << 20)

static int open_with(const char *backend, size_t grain, struct wtrack **t)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;

	options.backend = backend;
	options.grain = grain;
	return wtrack_open(&options, t);
}

/* NULL where the backend has one grain only. */
static struct wtrack *open_grain(const char *backend, size_t grain)
{
	struct wtrack *t = NULL;
	int rc = open_with(backend, grain, &t);

	if (!strcmp(backend, "scan") || !strcmp(backend, "async") ||
	    !strcmp(backend, "softdirty"))
		assert_int_equal(rc, -EOPNOTSUPP);
	else
		assert_int_equal(rc, 0);
	return t;
}

static size_t grain_at(struct wtrack *t, const void *addr)
{
	struct wtrack_range_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_query(t, addr, &info), 0);
	assert_int_equal(info.flags & WTRACK_RANGE_COARSE,
			 info.grain > page_size() ? WTRACK_RANGE_COARSE : 0);
	return info.grain;
}

static void bad_grains_are_refused(void **state)
{
	const size_t bad[] = { 1,
			       page_size() / 2,
			       page_size() + 1,
			       2 * GRAIN_MOST,
			       3 * page_size(),
			       SIZE_MAX };
	struct wtrack *t;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_returns(-EINVAL, open_with(*state, bad[i], &t));
	assert_int_equal(open_with(*state, page_size(), &t), 0);
	wtrack_close(t);
}

/* Unnamed, one is found that can do it. */
static void a_grain_chooses_the_backend(void **state)
{
	struct wtrack_info info = { .size = sizeof(info) };
	struct wtrack *t;

	(void)state;
	assert_int_equal(open_with(NULL, GRAIN_MOST, &t), 0);
	assert_int_equal(wtrack_info(t, &info), 0);
	assert_string_not_equal(info.backend, "scan");
	assert_string_not_equal(info.backend, "async");
	wtrack_close(t);
}

static bool is_block(const struct view *v, size_t first, size_t n)
{
	const uint64_t wanted = WTRACK_RUN_WRITTEN | WTRACK_RUN_COARSE;

	for (size_t i = first; i < first + n; i++)
		if (v->flags[i] != wanted)
			return false;
	return true;
}

/* A range that begins and ends amid a grain: its blocks there are shorter. */
static void a_store_dirties_its_grain_only(void **state)
{
	size_t grain = 16 * page_size();
	struct wtrack *t = open_grain(*state, grain);
	struct mem m = mem_map(MEM_THP, 64, true);
	struct view v;

	if (t && is_precise(t)) {
		watch_pages(t, &m, 5, 54, 0);
		assert_int_equal(grain_at(t, page_of(&m, 5)), grain);
		expect_none(t, &m);
		store(&m, 6);
		view_collect(&v, t, &m, 64, BOTH);
		assert_true(is_block(&v, 5, 11));
		assert_int_equal(v.runs, 1);
		store(&m, 17);
		store(&m, 58);
		store(&m, 0);
		view_collect(&v, t, &m, 64, BOTH);
		assert_true(is_block(&v, 16, 16) && is_block(&v, 48, 11));
		assert_int_equal(v.runs, 2);
		expect_none(t, &m);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* A cursor may cut a grain: each part keeps its state until it is cleared. */
static void a_cursor_cuts_a_grain(void **state)
{
	struct wtrack *t = open_grain(*state, 16 * page_size());
	struct mem m = mem_map(MEM_THP, 32, true);
	struct wtrack_run run;
	struct view v;

	if (t && is_precise(t)) {
		struct wtrack_cursor at = { (uintptr_t)page_of(&m, 4),
					    (uintptr_t)page_of(&m, 8), 0, 0 };

		watch_pages(t, &m, 0, 32, 0);
		store(&m, 3);
		assert_int_equal(wtrack_collect(t, &at, &run, 1, BOTH), 1);
		assert_int_equal(run.start, (uintptr_t)page_of(&m, 4));
		assert_int_equal(run.end, (uintptr_t)page_of(&m, 8));
		view_collect(&v, t, &m, 64, WTRACK_GET);
		assert_true(is_block(&v, 0, 4) && is_block(&v, 8, 8));
		assert_int_equal(v.flags[4], 0);
		store(&m, 5);
		view_collect(&v, t, &m, 64, BOTH);
		assert_true(is_block(&v, 0, 16));
		expect_none(t, &m);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

static void marking_is_of_whole_grains(void **state)
{
	struct wtrack *t = open_grain(*state, 16 * page_size());
	struct mem m = mem_map(MEM_ANON, 64, true);
	struct view v;

	if (t && is_precise(t)) {
		uintptr_t first = (uintptr_t)m.base / page_size() % 16;
		size_t block = (16 - first) % 16 + 16;

		watch_pages(t, &m, 0, 64, 0);
		assert_int_equal(wtrack_mark(t, page_of(&m, block + 1), 1), 0);
		view_collect(&v, t, &m, 64, BOTH);
		assert_true(is_block(&v, block, 16));
		assert_int_equal(v.runs, 1);
		expect_none(t, &m);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* [G1] Who stores or is prepared beside what was replaced must not fail. */
static void part_of_a_grain_may_be_replaced(void **state)
{
	struct wtrack *t = open_grain(*state, 16 * page_size());
	struct mem m = mem_map(MEM_THP, 32, true);
	struct view v;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	if (t && is_precise(t)) {
		watch_pages(t, &m, 0, 32, 0);
		assert_ptr_equal(
			mmap(page_of(&m, 5), m.page, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			page_of(&m, 5));
		store(&m, 9);
		store(&m, 2);
		store(&m, 5);
		assert_int_equal(write(fds[1], "k", 1), 1);
		assert_int_equal(wtrack_prepare_write(t, page_of(&m, 12), 1),
				 0);
		assert_int_equal(read(fds[0], page_of(&m, 12), 1), 1);
		view_collect(&v, t, &m, 64, WTRACK_GET);
		assert_true(v.flags[2] && v.flags[9] && v.flags[12]);
		assert_true(v.flags[5]);
		assert_int_equal(v.flags[16], 0);
	}
	close(fds[0]);
	close(fds[1]);
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- huge pages stay whole ---- */

static unsigned long huge_kib(const struct mem *m)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long sum = 0, kib, lo, hi;
	bool inside = false;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &lo, &hi) == 2)
			inside = lo < (uintptr_t)m->base + m->pages * m->page &&
				 hi > (uintptr_t)m->base;
		if (inside && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			sum += kib;
	}
	fclose(f);
	return sum;
}

static uint64_t faults_of_writing_all(struct wtrack *t, const struct mem *m)
{
	uint64_t before = stats_of(t).faults;

	for (size_t i = 0; i < m->pages; i++)
		store(m, i);
	return stats_of(t).faults - before;
}

static const char *lacks_grain(void)
{
	return wt_huge_size() > GRAIN_MOST
		       ? "huge pages are larger than any grain"
		       : NULL;
}

static void huge_pages_stay_whole(void **state)
{
	const size_t n = wt_page_entries(), blocks = 4;
	struct mem m = mem_map(MEM_THP, blocks * n, true);
	struct wtrack *t = open_grain(*state, wt_huge_size());
	unsigned long kib;
	struct view v;

	madvise(m.base, blocks * wt_huge_size(), MADV_COLLAPSE);
	kib = huge_kib(&m);
	if (!kib)
		print_message("# no huge page to keep whole\n");
	if (t && is_precise(t)) {
		watch_pages(t, &m, 0, m.pages, 0);
		for (int i = 0; i < 3; i++) {
			store(&m, n + 7);
			view_collect(&v, t, &m, 64, BOTH);
			assert_true(is_block(&v, n, n));
			assert_int_equal(v.runs, 1);
		}
		assert_int_equal(huge_kib(&m), kib);
		assert_int_equal(faults_of_writing_all(t, &m), blocks);
		clear_all(t);
		assert_int_equal(huge_kib(&m), kib);
		wtrack_close(t);

		t = open_on(*state);
		watch_pages(t, &m, 0, m.pages, 0);
		assert_int_equal(faults_of_writing_all(t, &m), m.pages);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(bad_grains_are_refused),
		CASE(a_grain_chooses_the_backend),
		CASE_EACH(a_store_dirties_its_grain_only),
		CASE_EACH(a_cursor_cuts_a_grain),
		CASE_EACH(marking_is_of_whole_grains),
		CASE_EACH(part_of_a_grain_may_be_replaced),
		CASE_NEEDS_IF(huge_pages_stay_whole, 0, lacks_grain),
	};

	return RUN_CASES("grain", cases);
}
