/* SPDX-License-Identifier: MIT */
/*
 * bug_map_limit.c: vm.max_map_count is reached.
 *
 * bdwgc/bdwgc#426 and #579: protecting pages one by one meets the limit, and
 * the process aborts, in the fault handler too.  urbit/vere#624,
 * apache/brpc#107: "mprotect: Cannot allocate memory".  The library must lose
 * precision instead, and say so.  [G2] [G3]
 */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static size_t map_limit(void)
{
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	size_t limit = 0;

	if (f && fscanf(f, "%zu", &limit) != 1)
		limit = 0;
	if (f)
		fclose(f);
	return limit;
}

/* Every second page of so many takes more mappings than there may be. */
#define SPACE 70000

static const char *lacks_limit(void)
{
	if (!map_limit() || map_limit() > SPACE - 100)
		return "vm.max_map_count is too high to be reached";
	return lacks_native_run() ? lacks_native_run() : lacks_mprotect();
}

static const char *lacks_scan_and_limit(void)
{
	return lacks_scan() ? lacks_scan() : lacks_limit();
}

static size_t count_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	size_t n = 0;
	int c;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static char *map_space(void)
{
	/* Nothing is populated but what is written: less memory and time. */
	return mem_map(MEM_ANON, SPACE, false).base;
}

static struct wtrack_run runs[SPACE];
static bool reported[SPACE];

/* Notes what is reported; pages that need not have been written are marked. */
static void collect(struct wtrack *t, const char *p, size_t step)
{
	ssize_t n =
		wtrack_collect(t, NULL, runs, SPACE, WTRACK_GET | WTRACK_CLEAR);

	assert_in_range(n, 1, SPACE);
	memset(reported, 0, sizeof(reported));
	for (ssize_t i = 0; i < n; i++) {
		size_t page = (runs[i].start - (uintptr_t)p) / page_size();
		size_t end = (runs[i].end - (uintptr_t)p) / page_size();

		for (; page < end; page++) {
			reported[page] = true;
			if (page % step)
				assert_true(runs[i].flags &
					    WTRACK_RUN_DEGRADED);
		}
	}
	for (size_t page = 0; page < SPACE; page += step)
		assert_true(reported[page]);
}

/* The handler meets the limit, at store 32 743 or so. */
static void stores_beyond_the_limit_are_reported(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_space();

	(void)state;
	assert_int_equal(wtrack_watch(t, p, SPACE * page_size(), 0), 0);
	for (size_t i = 0; i < SPACE; i += 2)
		touch(p, i);
	assert_true(stats_of(t).widened > 0);
	collect(t, p, 2);
	/* With the mappings joined again, precision is back. */
	clear_all(t);
	assert_clean(t);
	touch(p, 7);
	touch(p, SPACE - 1);
	assert_dirty(t, p, 7, SPACE - 1);
	wtrack_close(t);
	unmap_pages(p, SPACE);
}

static void the_second_epoch_beyond_the_limit_is_no_worse(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_space();

	(void)state;
	assert_int_equal(wtrack_watch(t, p, SPACE * page_size(), 0), 0);
	for (int epoch = 0; epoch < 2; epoch++) {
		for (size_t i = 0; i < SPACE; i += 2)
			touch(p, SPACE - 2 - i); /* downwards, this time */
		collect(t, p, 2);
	}
	wtrack_close(t);
	unmap_pages(p, SPACE);
}

/* ---- the program itself has used up all mappings ---- */

/* Splits foreign memory until the kernel refuses. */
static char *use_up_mappings(void)
{
	char *p = mem_map(MEM_ANON, SPACE, false).base;
	size_t i = 0;

	while (i < SPACE && !mprotect(p + i * page_size(), page_size(),
				      i % 2 ? PROT_READ : PROT_NONE))
		i++;
	assert_true(i < SPACE);
	assert_int_equal(errno, ENOMEM);
	return p;
}

static void the_first_store_finds_no_mapping_left(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_watched(t, 64), *foreign;

	(void)state;
	clear_all(t);
	foreign = use_up_mappings();
	for (int epoch = 0; epoch < 3; epoch++) {
		touch(p, 20);
		touch(p, 40);
		touch(p, 41);
		assert_dirty_superset(t, p, PAGES(20, 40, 41));
		assert_true(flags_at(t, p + 20 * page_size()) &
			    WTRACK_RUN_DEGRADED);
		clear_all(t);
	}
	unmap_pages(foreign, SPACE);
	clear_all(t);
	assert_clean(t);
	touch(p, 20);
	assert_dirty(t, p, 20);
	wtrack_close(t);
	unmap_pages(p, 64);
}

static void watch_and_unwatch_fail_or_work_and_say_which(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_watched(t, 64), *q, *foreign;
	size_t page = page_size();
	int rc;

	(void)state;
	q = map_pages(64);
	foreign = use_up_mappings();
	rc = wtrack_watch(t, q + 10 * page, page, 0);
	assert_true(rc == 0 || rc == -ENOMEM);
	assert_int_equal(wtrack_query(t, q + 10 * page, NULL),
			 rc ? -ENOENT : 0);
	touch(q, 10);
	if (!rc)
		assert_true(is_dirty(t, q + 10 * page));
	rc = wtrack_unwatch(t, p + 30 * page, page);
	assert_true(rc == 0 || rc == -ENOMEM);
	assert_int_equal(wtrack_query(t, p + 30 * page, NULL),
			 rc ? 0 : -ENOENT);
	touch(p, 31);
	assert_true(is_dirty(t, p + 31 * page));
	touch(p, 30);
	if (rc)
		assert_true(is_dirty(t, p + 30 * page));
	unmap_pages(foreign, SPACE);
	wtrack_close(t);
	unmap_pages(p, 64);
	unmap_pages(q, 64);
}

static void close_at_the_limit_leaves_memory_writable(void **state)
{
	struct wtrack *t = open_on("mprotect");
	char *p = map_watched(t, 64), *foreign;

	(void)state;
	foreign = use_up_mappings();
	touch(p, 33);
	wtrack_close(t);
	for (size_t i = 0; i < 64; i++)
		touch(p, i); /* a crash, if not */
	unmap_pages(foreign, SPACE);
	unmap_pages(p, 64);
}

/* ---- scan makes no mappings ---- */

static void scan_needs_no_mappings_at_all(void **state)
{
	struct wtrack *t = open_on("scan");
	char *p = map_space();
	size_t before;

	(void)state;
	assert_int_equal(wtrack_watch(t, p, SPACE * page_size(), 0), 0);
	before = count_maps();
	for (size_t i = 0; i < SPACE; i += 2)
		touch(p, i);
	collect(t, p, 2);
	for (size_t i = 1; i < SPACE; i += 2)
		assert_false(reported[i]);
	assert_in_range(count_maps(), before - 2, before + 2);
	wtrack_close(t);
	unmap_pages(p, SPACE);
}

/* ---- the calls are few: SBCL f4d67a703, 03363f014, 673234cb9 ---- */

static void adjacent_pages_are_protected_in_one_call(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 1000);
	uint64_t before, most = 30;

	/* Three looks, of 64 pages a call. */
	if (runs_on("softdirty"))
		most += 3 * (1000 / 64 + 1);
	for (size_t i = 0; i < 1000; i++)
		if (i % 100)
			touch(p, i);
	before = stats_of(t).kernel_calls;
	clear_all(t);
	/* Ten runs, a look at each one's mapping, and some at what is dirty. */
	assert_true(stats_of(t).kernel_calls - before <= most);
	wtrack_close(t);
	unmap_pages(p, 1000);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_IF(stores_beyond_the_limit_are_reported, lacks_limit),
		CASE_IF(the_second_epoch_beyond_the_limit_is_no_worse,
			lacks_limit),
		CASE_IF(the_first_store_finds_no_mapping_left, lacks_limit),
		CASE_IF(watch_and_unwatch_fail_or_work_and_say_which,
			lacks_limit),
		CASE_IF(close_at_the_limit_leaves_memory_writable, lacks_limit),
		CASE_IF(scan_needs_no_mappings_at_all, lacks_scan_and_limit),
		CASE_NEEDS(adjacent_pages_are_protected_in_one_call,
			   WTRACK_CAP_PRECISE),
	};

	return RUN_CASES("map_limit", cases);
}
