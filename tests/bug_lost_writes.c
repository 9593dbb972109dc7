/* SPDX-License-Identifier: MIT */
/*
 * bug_lost_writes.c: stores that other trackers missed or made up.
 *
 * Each case names the report.  What cannot be seen at all is documented, and
 * no case here.  [G1] [G2]
 */
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N 32

/*
 * e2b-dev/infra PR#2742: to write-protect what is not there yet does nothing,
 * and the first store is missed.
 */
static void memory_that_was_never_there_is_tracked(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, N, false);
	volatile char unused;

	assert_int_equal(wtrack_watch(t, m.base, N * m.page, 0), 0);
	assert_clean(t);
	unused = m.base[4 * m.page]; /* the zero page: read, not written */
	(void)unused;
	assert_clean(t);
	touch(m.base, 4);
	touch(m.base, 9);
	assert_dirty(t, m.base, 4, 9);
	clear_all(t);
	assert_clean(t);
	touch(m.base, 10);
	assert_dirty(t, m.base, 10);
	wtrack_close(t);
	mem_unmap(&m);
}

/* tstamler/zIO PR#1: registered but not armed: no store is ever seen. */
static void the_first_store_after_watching_is_seen(void **state)
{
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		struct wtrack *t;
		struct mem m;

		if (mem_kind_lacks(kind))
			continue;
		t = open_on(*state);
		if (!watches_kind(t, (enum mem_kind)kind)) {
			wtrack_close(t);
			continue;
		}
		m = mem_map(kind, 2, true);
		assert_int_equal(wtrack_watch(t, m.base, 2 * m.page, 0), 0);
		*(volatile char *)(m.base + m.page) = 2;
		if (!is_dirty(t, m.base + m.page))
			fail_msg("%s", mem_kind_name(kind));
		wtrack_close(t);
		mem_unmap(&m);
	}
}

/*
 * e2b-dev/firecracker PR#8: where nothing is registered, every present page
 * reads as written.  linux PATCH v8 11/15: and from 7.3 on none does.
 */
static void what_is_not_watched_is_not_reported(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_pages(N);
	size_t page = page_size();
	struct wtrack_cursor at = { (uintptr_t)p, (uintptr_t)p + N * page, 0,
				    0 };
	struct wtrack_run run;

	for (size_t i = 0; i < N; i++)
		touch(p, i);
	assert_int_equal(wtrack_collect(t, &at, &run, 1, WTRACK_GET), 0);
	assert_int_equal(wtrack_watch(t, p + 8 * page, page, 0), 0);
	assert_clean(t);
	touch(p, 7);
	touch(p, 8);
	touch(p, 9);
	assert_dirty(t, p, 8);
	assert_int_equal(wtrack_unwatch(t, p + 8 * page, page), 0);
	assert_int_equal(collect_all(t, WTRACK_GET).n, 0);
	wtrack_close(t);
	unmap_pages(p, N);
}

/*
 * bdwgc/bdwgc#479: clearing does not work on some machine, and everything stays
 * dirty.  bdwgc/bdwgc#553: two trackers disagree now and then.
 */
static void many_epochs_are_exact(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, N);
	uint32_t random = 1;

	for (int epoch = 0; epoch < 2000; epoch++) {
		size_t pages[N], n = 0;

		for (size_t i = 0; i < N; i++) {
			random = random * 1664525u + 1013904223u;
			if (random >> 30)
				continue;
			touch(p, i);
			pages[n++] = i;
		}
		assert_dirty_exactly(t, p, pages, n);
		clear_all(t);
		assert_clean(t);
	}
	wtrack_close(t);
	unmap_pages(p, N);
}

/*
 * linux 4980e837cab7 "fix wr-protect even if PM_SCAN_WP_MATCHING not set": a
 * look arms what it looks at, and the store after it is not reported.
 */
static void a_look_changes_nothing(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, N);
	uint64_t faults;

	touch(p, 3);
	touch(p, 30);
	faults = stats_of(t).faults;
	for (int i = 0; i < 5; i++) {
		assert_dirty(t, p, 3, 30);
		touch(p, 3);
	}
	/* Not armed again: no store paid a second time.  [G8] */
	assert_int_equal(stats_of(t).faults, faults);
	touch(p, 4);
	assert_dirty(t, p, 3, 4, 30);
	wtrack_close(t);
	unmap_pages(p, N);
}

/* ---- memory that goes away and comes back ---- */

static void page_out(char *p, size_t len)
{
	/* Without swap it does nothing to anonymous memory. */
	madvise(p, len, MADV_PAGEOUT);
}

/*
 * wasmtime PR#14357: what is written and swapped out counted as clean.  linux
 * "Fix uffd-wp confusion in pagemap_scan_pmd_entry()": swapped pages are armed
 * wrongly.
 */
static void memory_that_is_paged_out_keeps_its_state(void **state)
{
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		struct wtrack *t;
		struct mem m;

		if (kind == MEM_HUGETLB || kind == MEM_THP)
			continue;
		t = open_on(*state);
		if (!watches_kind(t, (enum mem_kind)kind)) {
			wtrack_close(t);
			continue;
		}
		m = mem_map(kind, N, true);
		assert_int_equal(wtrack_watch(t, m.base, N * m.page, 0), 0);
		touch(m.base, 2);
		touch(m.base, 17);
		page_out(m.base, N * m.page);
		assert_dirty(t, m.base, 2, 17);
		clear_all(t);
		assert_clean(t);
		page_out(m.base, N * m.page);
		assert_clean(t);
		touch(m.base, 17);
		touch(m.base, 18);
		assert_dirty(t, m.base, 17, 18);
		wtrack_close(t);
		mem_unmap(&m);
	}
}

static void write_number(char *p, size_t page, int number)
{
	snprintf(p + page * page_size(), 16, "%d", number);
}

/*
 * linux "fix loss of young/dirty bits during pagemap scan": a page is
 * collected, taken for clean, evicted, and what was in it is lost.
 */
static void a_shared_file_keeps_what_was_written(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_FILE_SHARED, N, true);
	char text[16], is[16];

	assert_int_equal(fsync(m.fd), 0);
	assert_int_equal(wtrack_watch(t, m.base, N * m.page, 0), 0);
	for (int round = 1; round <= 10; round++) {
		for (size_t i = 0; i < N; i += 2)
			write_number(m.base, i, round * 100 + (int)i);
		clear_all(t);
		page_out(m.base, N * m.page);
		assert_int_equal(fsync(m.fd), 0);
		posix_fadvise(m.fd, 0, 0, POSIX_FADV_DONTNEED);
		for (size_t i = 0; i < N; i += 2) {
			snprintf(text, sizeof(text), "%d",
				 round * 100 + (int)i);
			assert_int_equal(pread(m.fd, is, sizeof(is),
					       (off_t)(i * m.page)),
					 sizeof(is));
			assert_string_equal(is, text);
			assert_string_equal(m.base + i * m.page, text);
		}
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- two backends ---- */

/* The same stores, beside each other: both must say the same. */
static void scan_and_mprotect_agree(void **state)
{
	struct wtrack *a = open_on("scan"), *b = open_on("mprotect");
	char *p = map_watched(a, N), *q = map_watched(b, N);
	uint32_t random = 7;

	(void)state;
	for (int step = 0; step < 5000; step++) {
		size_t page = (random = random * 1664525u + 1013904223u) >> 27;

		if ((random >> 8) % 7 == 0) {
			clear_all(a);
			clear_all(b);
		}
		touch(p, page);
		touch(q, page);
		if (step % 50)
			continue;
		for (size_t i = 0; i < N; i++)
			assert_int_equal(is_dirty(a, p + i * page_size()),
					 is_dirty(b, q + i * page_size()));
	}
	wtrack_close(a);
	wtrack_close(b);
	unmap_pages(p, N);
	unmap_pages(q, N);
}

static const char *lacks_two(void)
{
	return lacks_scan() ? lacks_scan() : lacks_mprotect();
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(memory_that_was_never_there_is_tracked),
		CASE_EACH(the_first_store_after_watching_is_seen),
		CASE_EACH(what_is_not_watched_is_not_reported),
		CASE_EACH(many_epochs_are_exact),
		CASE_EACH(a_look_changes_nothing),
		CASE_EACH(memory_that_is_paged_out_keeps_its_state),
		CASE_NEEDS(a_shared_file_keeps_what_was_written,
			   WTRACK_CAP_FILES),
		CASE_IF(scan_and_mprotect_agree, lacks_two),
	};

	return RUN_CASES("lost_writes", cases);
}
