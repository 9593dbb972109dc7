/* SPDX-License-Identifier: MIT */
/* live_query.c: marking, preparing, and what a handle tells about itself. */
#include "support_live.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

static struct wtrack_range_info query(struct wtrack *t, const void *addr)
{
	struct wtrack_range_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_query(t, addr, &info), 0);
	assert_int_equal(info.size, sizeof(info));
	return info;
}

static void mark_kind(struct wtrack *t, enum mem_kind kind)
{
	for (int populate = 0; populate < 2; populate++) {
		struct mem m = mem_map(kind, 8, populate);

		watch_pages(t, &m, 0, 8, 0);
		/* One byte; a byte each side of a border; a whole page. */
		assert_int_equal(wtrack_mark(t, page_of(&m, 1) + 77, 1), 0);
		assert_int_equal(wtrack_mark(t, page_of(&m, 4) - 1, 2), 0);
		assert_int_equal(wtrack_mark(t, page_of(&m, 6), m.page), 0);
		expect_pages(t, &m, WTRACK_GET, 1, 3, 4, 6);
		expect_pages(t, &m, BOTH, 1, 3, 4, 6);
		expect_none(t, &m);
		store(&m, 1);
		expect_pages(t, &m, BOTH, 1);
		unwatch_pages(t, &m, 0, 8);
		mem_unmap(&m);
	}
}

static void marked_pages_are_dirty_until_cleared(void **state)
{
	for_each_kind(mark_kind, *state);
}

static void marking_spans_ranges_but_no_gaps(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 4, 0);
	watch_pages(t, &m, 4, 4, WTRACK_WATCH_DIRTY);
	watch_pages(t, &m, 9, 4, 0);
	clear_all(t);
	assert_int_equal(wtrack_mark(t, page_of(&m, 2), 5 * m.page), 0);
	expect_pages(t, &m, BOTH, 2, 3, 4, 5, 6);
	assert_int_equal(wtrack_mark(t, page_of(&m, 7), 3 * m.page), -ENOENT);
	assert_int_equal(wtrack_mark(t, page_of(&m, 13), 1), -ENOENT);
	assert_int_equal(wtrack_mark(t, page_of(&m, 1), 0), -EINVAL);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

static void read_prepared(struct wtrack *t, enum mem_kind kind)
{
	struct mem m = mem_map(kind, 8, true);
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	watch_pages(t, &m, 0, 8, 0);
	for (int round = 0; round < 3; round++) {
		char *to = page_of(&m, 3) - 4;

		assert_int_equal(write(fds[1], "abcdefgh", 8), 8);
		assert_int_equal(wtrack_prepare_write(t, to, 8), 0);
		assert_int_equal(read(fds[0], to, 8), 8);
		assert_memory_equal(to, "abcdefgh", 8);
		expect_pages(t, &m, BOTH, 2, 3);
		expect_none(t, &m);
	}
	close(fds[0]);
	close(fds[1]);
	unwatch_pages(t, &m, 0, 8);
	mem_unmap(&m);
}

static void the_kernel_may_store_into_prepared_memory(void **state)
{
	for_each_kind(read_prepared, *state);
}

static void preparing_leaves_other_memory_alone(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	char *gap = page_of(&m, 4);

	watch_pages(t, &m, 0, 4, 0);
	watch_pages(t, &m, 8, 4, 0);
	assert_int_equal(wtrack_prepare_write(t, gap, 4 * m.page), 0);
	assert_int_equal(wtrack_prepare_write(t, &t, sizeof(t)), 0);
	expect_none(t, &m);
	/* Over the gap, from the last page before to the first behind. */
	assert_int_equal(wtrack_prepare_write(t, gap - 1, 4 * m.page + 2), 0);
	/* [K-proc-mem] A monitor serves most of the kernel's stores, not all.
	 */
	if ((caps_of(t) & WTRACK_CAP_KERNEL_WRITES) &&
	    strcmp(*state, "monitor") != 0)
		expect_none(t, &m);
	else
		expect_pages(t, &m, BOTH, 3, 8);
	assert_int_equal(wtrack_prepare_write(t, gap, 0), -EINVAL);
	wtrack_close(t);
	mem_unmap(&m);
}

static void query_kind(struct wtrack *t, enum mem_kind kind)
{
	struct mem m = mem_map(kind, 8, true);
	struct wtrack_range_info info;
	uint64_t coarse = kind == MEM_HUGETLB ? WTRACK_RANGE_COARSE : 0;

	watch_pages(t, &m, 2, 4, WTRACK_WATCH_DIRTY);
	info = query(t, page_of(&m, 3) + 17);
	assert_ptr_equal((void *)info.start, page_of(&m, 2));
	assert_ptr_equal((void *)info.end, page_of(&m, 6));
	assert_int_equal(info.grain, m.page);
	assert_int_equal(info.flags, WTRACK_RANGE_INITIAL | coarse);
	clear_all(t);
	assert_int_equal(query(t, page_of(&m, 2)).flags, coarse);
	assert_int_equal(query(t, page_of(&m, 6) - 1).flags, coarse);
	assert_int_equal(wtrack_query(t, page_of(&m, 2), NULL), 0);
	assert_int_equal(wtrack_query(t, page_of(&m, 6), NULL), -ENOENT);
	assert_int_equal(wtrack_query(t, page_of(&m, 2) - 1, &info), -ENOENT);
	store(&m, 2);
	assert_int_equal(query(t, page_of(&m, 2)).flags, coarse);
	unwatch_pages(t, &m, 2, 4);
	assert_int_equal(wtrack_query(t, page_of(&m, 3), &info), -ENOENT);
	mem_unmap(&m);
}

static void query_tells_the_range(void **state)
{
	for_each_kind(query_kind, *state);
}

static void a_shorter_or_longer_structure_is_filled(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 4, true);
	struct {
		struct wtrack_range_info info;
		char tail[32];
	} longer;
	struct wtrack_range_info part;

	watch_pages(t, &m, 0, 4, 0);
	memset(&longer, 0x5a, sizeof(longer));
	longer.info.size = sizeof(longer);
	assert_int_equal(wtrack_query(t, m.base, &longer.info), 0);
	assert_ptr_equal((void *)longer.info.end, page_of(&m, 4));
	for (size_t i = 0; i < sizeof(longer.tail); i++)
		assert_int_equal(longer.tail[i], 0);
	memset(&part, 0x5a, sizeof(part));
	part.size = offsetof(struct wtrack_range_info, end);
	assert_int_equal(wtrack_query(t, m.base, &part), 0);
	assert_ptr_equal((void *)part.start, m.base);
	assert_int_equal(part.end, 0x5a5a5a5a5a5a5a5au);
	wtrack_close(t);
	mem_unmap(&m);
}

/* A capability that is missing would hide cases, here and elsewhere. */
static void each_backend_can_what_it_is_made_for(void **state)
{
	struct wtrack *t = open_on(*state);
	uint64_t always, optional, caps = caps_of(t);

	if (!strcmp(*state, "scan") || !strcmp(*state, "async"))
		always = WTRACK_CAP_PRECISE | WTRACK_CAP_KERNEL_WRITES |
			 WTRACK_CAP_LOSS | WTRACK_CAP_NO_SIGNAL |
			 WTRACK_CAP_FILES | WTRACK_CAP_PROTECT;
	else if (!strcmp(*state, "monitor"))
		always = WTRACK_CAP_PRECISE | WTRACK_CAP_DISCARD |
			 WTRACK_CAP_LOSS | WTRACK_CAP_PROTECT |
			 WTRACK_CAP_NO_SIGNAL;
	else if (!strcmp(*state, "wp"))
		always = WTRACK_CAP_PRECISE | WTRACK_CAP_DISCARD |
			 WTRACK_CAP_LOSS | WTRACK_CAP_PROTECT;
	else if (!strcmp(*state, "softdirty"))
		always = WTRACK_CAP_PRECISE | WTRACK_CAP_KERNEL_WRITES |
			 WTRACK_CAP_NO_SIGNAL;
	else if (!strcmp(*state, "mprotect"))
		always =
			WTRACK_CAP_PRECISE | WTRACK_CAP_LOSS | WTRACK_CAP_FILES;
	else
		always = WTRACK_CAP_KERNEL_WRITES | WTRACK_CAP_DISCARD |
			 WTRACK_CAP_NO_SIGNAL | WTRACK_CAP_FILES |
			 WTRACK_CAP_PROTECT;
	if (strcmp(*state, "softdirty") != 0)
		always |= WTRACK_CAP_CONCURRENT;
	assert_int_equal(caps & always, always);
	/* Kernels differ in what becomes of discarded pages. */
	optional = WTRACK_CAP_DISCARD;
	/* It depends on the door whether the kernel's faults wait, too. */
	if (!strcmp(*state, "monitor"))
		optional |= WTRACK_CAP_KERNEL_WRITES;
	assert_int_equal(caps & ~always & ~optional, 0);
	wtrack_close(t);
}

static void info_names_the_backend_and_counts_epochs(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 4, true);
	struct wtrack_info info = { .size = sizeof(info) };
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[4];

	watch_pages(t, &m, 0, 4, 0);
	store(&m, 0);
	store(&m, 2);
	collect_all(t, WTRACK_GET);
	assert_int_equal(wtrack_info(t, &info), 0);
	assert_string_equal(info.backend, *state);
	assert_int_equal(info.page_size, page_size());
	assert_int_equal(info.epoch, 0);
	if (!strcmp(*state, "scan"))
		assert_int_equal(info.door_selftest, 0);
	if (!strcmp(*state, "mprotect"))
		assert_int_equal(info.door_signal, 0);
	/* A part is no epoch; nor is an answer that was cut short. */
	at.next = (uintptr_t)m.base;
	at.end = (uintptr_t)page_of(&m, 4);
	wtrack_collect(t, &at, runs, 4, BOTH);
	store(&m, 0);
	store(&m, 2);
	wtrack_collect(t, NULL, runs, 1, BOTH);
	assert_int_equal(wtrack_info(t, &info), 0);
	if (is_precise(t))
		assert_int_equal(info.epoch, 0);
	clear_all(t);
	clear_all(t);
	wtrack_info(t, &info);
	if (is_precise(t))
		assert_int_equal(info.epoch, 2);
	wtrack_close(t);
	mem_unmap(&m);
}

static void stats_count_what_happened(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 64, true);
	struct wtrack_stats before = stats_of(t), after;

	assert_int_equal(before.ranges, 0);
	assert_int_equal(before.watched_bytes, 0);
	assert_true(before.memory_bytes > 0);
	watch_pages(t, &m, 0, 32, 0);
	watch_pages(t, &m, 40, 8, 0);
	for (size_t i = 0; i < 10; i++)
		store(&m, 2 * i);
	collect_all(t, BOTH);
	after = stats_of(t);
	assert_int_equal(after.ranges, 2);
	assert_int_equal(after.watched_bytes, 40 * m.page);
	assert_int_equal(after.collections, 1);
	assert_int_equal(after.runs, is_precise(t) ? 10 : 2);
	assert_int_equal(after.lost, 0);
	assert_int_equal(after.degraded, 0);
	assert_int_equal(after.widened, 0);
	/* [G8] One fault a page and epoch, where faults are ours. */
	if (!(caps_of(t) & WTRACK_CAP_NO_SIGNAL)) {
		assert_int_equal(after.faults, 10);
		store(&m, 0);
		store(&m, 0);
		assert_int_equal(stats_of(t).faults, 11);
	}
	unwatch_pages(t, &m, 40, 8);
	assert_int_equal(stats_of(t).watched_bytes, 32 * m.page);
	wtrack_close(t);
	mem_unmap(&m);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(marked_pages_are_dirty_until_cleared),
		CASE_EACH(marking_spans_ranges_but_no_gaps),
		CASE_EACH(the_kernel_may_store_into_prepared_memory),
		CASE_EACH(preparing_leaves_other_memory_alone),
		CASE_EACH(query_tells_the_range),
		CASE_EACH(a_shorter_or_longer_structure_is_filled),
		CASE_EACH(each_backend_can_what_it_is_made_for),
		CASE_EACH(info_names_the_backend_and_counts_epochs),
		CASE_EACH(stats_count_what_happened),
	};

	return RUN_CASES("query", cases);
}
