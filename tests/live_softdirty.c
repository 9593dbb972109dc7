/* SPDX-License-Identifier: MIT */
/*
 * live_softdirty.c: what is special where clearing is for the whole process.
 *
 * Other ranges, other handles and other processes lose nothing by it; memory
 * whose bits do not last is refused; bits that say too much are marked.
 */
#include "support_live.h"

#include "pagemap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BOTH  (WTRACK_GET | WTRACK_CLEAR)
#define NAMED "softdirty"

static const char *lacks_softdirty(void)
{
	return backend_error(NAMED)
		       ? "the kernel has no soft-dirty bits to clear"
		       : NULL;
}

/* ---- only by name ---- */

static void it_is_taken_by_name_only(void **state)
{
	struct wtrack_options o = WTRACK_OPTIONS_INIT;
	struct wtrack_probe probe = { .size = sizeof(probe) };
	struct wtrack_info info = { .size = sizeof(info) };
	struct wtrack *t;

	(void)state;
	assert_int_equal(wtrack_open(NULL, &t), 0);
	assert_int_equal(wtrack_info(t, &info), 0);
	assert_string_not_equal(info.backend, NAMED);
	wtrack_close(t);
	/* Not even where it would be the best. */
	o.require = WTRACK_CAP_PRECISE | WTRACK_CAP_KERNEL_WRITES |
		    WTRACK_CAP_NO_SIGNAL;
	if (!wtrack_open(&o, &t)) {
		assert_int_equal(wtrack_info(t, &info), 0);
		assert_string_not_equal(info.backend, NAMED);
		wtrack_close(t);
	}
	assert_int_equal(wtrack_probe(&probe), 0);
	assert_string_not_equal(probe.backend, NAMED);
	o.backend = NAMED;
	assert_int_equal(wtrack_open(&o, &t), 0);
	wtrack_close(t);
	o.require |= WTRACK_CAP_CONCURRENT;
	assert_int_equal(wtrack_open(&o, &t), -EOPNOTSUPP);
}

static void the_environment_may_name_it(void **state)
{
	struct wtrack_info info = { .size = sizeof(info) };
	struct wtrack *t;

	(void)state;
	setenv("WTRACK_BACKEND", NAMED, 1);
	assert_int_equal(wtrack_open(NULL, &t), 0);
	unsetenv("WTRACK_BACKEND");
	assert_int_equal(wtrack_info(t, &info), 0);
	assert_string_equal(info.backend, NAMED);
	wtrack_close(t);
}

/* [K-soft-shared] [K-soft-hugetlb] */
static void memory_without_lasting_bits_is_refused(void **state)
{
	struct wtrack *t = open_on(NAMED);

	(void)state;
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		struct mem m;
		int expected = -EINVAL;

		if (mem_kind_lacks((enum mem_kind)kind))
			continue;
		if (watches_kind(t, (enum mem_kind)kind))
			expected = 0;
		m = mem_map((enum mem_kind)kind, 2, false);
		assert_returns(expected,
			       wtrack_watch(t, m.base, 2 * m.page, 0));
		assert_int_equal(stats_of(t).ranges, expected ? 0 : 1);
		if (!expected)
			unwatch_pages(t, &m, 0, 2);
		mem_unmap(&m);
	}
	wtrack_close(t);
}

/* ---- others keep what they have ---- */

static void a_clearing_takes_nothing_from_other_handles(void **state)
{
	struct wtrack *t = open_on(NAMED), *other = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 16, true);

	(void)state;
	watch_pages(t, &m, 0, 8, 0);
	watch_pages(other, &m, 8, 8, 0);
	for (int round = 0; round < 3; round++) {
		store(&m, 1);
		store(&m, 9);
		store(&m, 12);
		expect_pages(t, &m, BOTH, 1);
		expect_none(t, &m);
		expect_pages(other, &m, WTRACK_GET, 9, 12);
		store(&m, 2);
		expect_pages(other, &m, BOTH, 9, 12);
		expect_none(other, &m);
		expect_pages(t, &m, BOTH, 2);
	}
	wtrack_close(t);
	wtrack_close(other);
	mem_unmap(&m);
}

static void a_clearing_of_a_part_takes_nothing_from_the_rest(void **state)
{
	struct wtrack *t = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[4];

	(void)state;
	watch_pages(t, &m, 0, 6, 0);
	watch_pages(t, &m, 8, 8, 0);
	store(&m, 1);
	store(&m, 3);
	store(&m, 9);
	at.next = (uintptr_t)page_of(&m, 2);
	at.end = (uintptr_t)page_of(&m, 6);
	assert_int_equal(wtrack_collect(t, &at, runs, 4, BOTH), 1);
	assert_int_equal(runs[0].start, page_of(&m, 3));
	expect_pages(t, &m, WTRACK_GET, 1, 9);
	/* An array of one takes the first and leaves the other. [G6] */
	assert_int_equal(wtrack_collect(t, NULL, runs, 1, BOTH), 1);
	expect_pages(t, &m, BOTH, 9);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

static void a_watch_takes_nothing_from_others(void **state)
{
	struct wtrack *t = open_on(NAMED), *other = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 16, true);

	(void)state;
	watch_pages(t, &m, 0, 4, 0);
	store(&m, 1);
	watch_pages(t, &m, 4, 4, 0);
	watch_pages(other, &m, 8, 4, 0);
	expect_none(other, &m);
	expect_pages(t, &m, WTRACK_GET, 1);
	store(&m, 5);
	store(&m, 8);
	/* An initial range is cleared without a look. */
	watch_pages(other, &m, 12, 4, WTRACK_WATCH_DIRTY);
	clear_all(other);
	expect_none(other, &m);
	expect_pages(t, &m, BOTH, 1, 5);
	wtrack_close(t);
	wtrack_close(other);
	mem_unmap(&m);
}

static void the_child_of_a_fork_has_bits_of_its_own(void *arg)
{
	struct wtrack *t = arg;

	CHECK(wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR) == 0);
}

static void a_child_takes_nothing_from_its_parent(void **state)
{
	struct wtrack *t = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 8, true);

	(void)state;
	watch_pages(t, &m, 0, 8, 0);
	store(&m, 3);
	assert_child_passes(the_child_of_a_fork_has_bits_of_its_own, t);
	expect_pages(t, &m, BOTH, 3);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- what the kernel does ---- */

static bool bit_of(int pagemap, const char *addr)
{
	uint64_t entry = 0;
	off_t at = (off_t)((uintptr_t)addr / page_size() * sizeof(entry));

	assert_int_equal(pread(pagemap, &entry, sizeof(entry), at),
			 sizeof(entry));
	return entry & WT_ENTRY_SOFT_DIRTY;
}

/* [K-soft-merge] A page that is new stays so when its mapping is joined. */
static void a_replaced_page_is_dirty_after_a_merge(void **state)
{
	struct wtrack *t = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 8, true);
	char *at = page_of(&m, 3);
	bool seen;

	(void)state;
	watch_pages(t, &m, 0, 8, 0);
	assert_ptr_equal(mmap(at, m.page, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 at);
	madvise(at, m.page, MADV_NOHUGEPAGE);
	assert_true(look_at(t, &m, 3) & WTRACK_RUN_WRITTEN);
	assert_int_equal(mprotect(at, m.page, PROT_READ | PROT_WRITE), 0);
	seen = look_at(t, &m, 3);
	printf("# a merge %s the bit of a new mapping here\n",
	       seen ? "keeps" : "loses");
	/* Joined, the others cannot be told from it: that is said. */
	if (seen && look_at(t, &m, 4))
		assert_true(look_at(t, &m, 4) & WTRACK_RUN_DEGRADED);
	clear_all(t);
	expect_none(t, &m);
	store(&m, 3);
	expect_pages(t, &m, BOTH, 3);
	wtrack_close(t);
	mem_unmap(&m);
}

/* [K-soft-new] A neighbour that joins makes all of a mapping read as dirty. */
static void a_mapping_that_grew_is_in_doubt(void **state)
{
	struct wtrack *t = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 8, true);
	char *next = page_of(&m, 7);

	(void)state;
	assert_int_equal(munmap(next, m.page), 0);
	watch_pages(t, &m, 0, 7, 0);
	store(&m, 2);
	assert_int_equal(look_at(t, &m, 2), WTRACK_RUN_WRITTEN);
	assert_ptr_equal(mmap(next, m.page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 next);
	madvise(next, m.page, MADV_NOHUGEPAGE);
	assert_true(look_at(t, &m, 2) & WTRACK_RUN_WRITTEN);
	if (look_at(t, &m, 4))
		assert_true(look_at(t, &m, 4) & WTRACK_RUN_DEGRADED);
	expect_pages(t, &m, BOTH, 2);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

/* [K-soft-shared] [K-soft-discard] What is dropped takes its bit along. */
static void dropped_pages_have_no_bit(void **state)
{
	struct mem shared = mem_map(MEM_SHARED_ANON, 1, true);
	struct mem own = mem_map(MEM_ANON, 1, true);
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	struct wtrack *t = open_on(NAMED);

	(void)state;
	assert_true(pagemap >= 0);
	/* The self-test's clearing, or this one, made all clean. */
	watch_pages(t, &own, 0, 1, WTRACK_WATCH_DIRTY);
	clear_all(t);
	store(&shared, 0);
	store(&own, 0);
	assert_true(bit_of(pagemap, shared.base) && bit_of(pagemap, own.base));
	assert_int_equal(madvise(shared.base, page_size(), MADV_DONTNEED), 0);
	assert_int_equal(madvise(own.base, page_size(), MADV_DONTNEED), 0);
	assert_int_equal(shared.base[5], 1);
	assert_false(bit_of(pagemap, shared.base));
	assert_false(bit_of(pagemap, own.base));
	close(pagemap);
	wtrack_close(t);
	mem_unmap(&own);
	mem_unmap(&shared);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_IF(it_is_taken_by_name_only, lacks_softdirty),
		CASE_IF(the_environment_may_name_it, lacks_softdirty),
		CASE_IF(memory_without_lasting_bits_is_refused,
			lacks_softdirty),
		CASE_IF(a_clearing_takes_nothing_from_other_handles,
			lacks_softdirty),
		CASE_IF(a_clearing_of_a_part_takes_nothing_from_the_rest,
			lacks_softdirty),
		CASE_IF(a_watch_takes_nothing_from_others, lacks_softdirty),
		CASE_IF(a_child_takes_nothing_from_its_parent, lacks_softdirty),
		CASE_IF(a_replaced_page_is_dirty_after_a_merge,
			lacks_softdirty),
		CASE_IF(a_mapping_that_grew_is_in_doubt, lacks_softdirty),
		CASE_IF(dropped_pages_have_no_bit, lacks_softdirty),
	};

	return RUN_CASES("softdirty", cases);
}
