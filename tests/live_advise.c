/* SPDX-License-Identifier: MIT */
/* live_advise.c: pages that the program says will be written, or must not be
 * missed. */
#include "support_live.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

static int advise(struct wtrack *t, const struct mem *m, size_t page, size_t n,
		  int advice)
{
	return wtrack_advise(t, page_of(m, page), n * m->page, advice);
}

static uint64_t range_flags(struct wtrack *t, const void *addr)
{
	struct wtrack_range_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_query(t, addr, &info), 0);
	return info.flags;
}

/* Not even presumed to be dirty. */
static void expect_clean(struct wtrack *t)
{
	if (is_precise(t))
		assert_int_equal(collect_all(t, WTRACK_GET).n, 0);
}

/* Pages [from, to) are presumed, and the others of `m` clean. */
static void expect_presumed(struct wtrack *t, const struct mem *m, size_t from,
			    size_t to, unsigned how)
{
	struct view v;

	view_collect(&v, t, m, 64, how);
	for (size_t i = 0; i < m->pages; i++) {
		bool in = i >= from && i < to;

		assert_int_equal(!v.flags[i], !in);
		assert_int_equal(v.flags[i] & WTRACK_RUN_PRESUMED,
				 in ? WTRACK_RUN_PRESUMED : 0);
		assert_false(in && (v.flags[i] & WTRACK_RUN_WRITTEN));
	}
}

static void advise_kind(struct wtrack *t, enum mem_kind kind)
{
	struct mem m = mem_map(kind, 8, true);

	watch_pages(t, &m, 0, 8, 0);
	assert_int_equal(advise(t, &m, 2, 3, WTRACK_ADVISE_WRITES), 0);
	for (int round = 0; round < 3; round++) {
		if (is_precise(t))
			expect_presumed(t, &m, 2, 5, WTRACK_GET);
		expect_pages(t, &m, BOTH, 2, 3, 4);
		store(&m, 3);
		store(&m, 7);
		expect_pages(t, &m, BOTH, 2, 3, 4, 7);
	}
	assert_int_equal(advise(t, &m, 0, 8, WTRACK_ADVISE_ARM), 0);
	expect_clean(t);
	store(&m, 3);
	expect_pages(t, &m, BOTH, 3);
	expect_clean(t);
	unwatch_pages(t, &m, 0, 8);
	mem_unmap(&m);
}

static void what_will_be_written_is_reported_until_armed(void **state)
{
	for_each_kind(advise_kind, *state);
}

/* Dirty until it is cleared, and then what the policy, exact, says. */
static void other_advice_ends_it(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 16, 0);
	assert_int_equal(advise(t, &m, 4, 8, WTRACK_ADVISE_WRITES), 0);
	clear_all(t);
	assert_int_equal(advise(t, &m, 6, 2, WTRACK_ADVISE_NORMAL), 0);
	expect_pages(t, &m, WTRACK_GET, 4, 5, 6, 7, 8, 9, 10, 11);
	expect_pages(t, &m, BOTH, 4, 5, 6, 7, 8, 9, 10, 11);
	expect_pages(t, &m, WTRACK_GET, 4, 5, 8, 9, 10, 11);
	assert_int_equal(look_at(t, &m, 6) | look_at(t, &m, 7), 0);
	store(&m, 7);
	expect_pages(t, &m, BOTH, 4, 5, 7, 8, 9, 10, 11);
	assert_int_equal(advise(t, &m, 0, 16, WTRACK_ADVISE_NORMAL), 0);
	clear_all(t);
	expect_clean(t);
	/* Where there was none, normal advice changes nothing. */
	store(&m, 2);
	assert_int_equal(advise(t, &m, 0, 16, WTRACK_ADVISE_NORMAL), 0);
	expect_pages(t, &m, BOTH, 2);
	expect_clean(t);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Exact reports, of the neighbours as well. */
static void arming_forgets_what_was_written(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 8, 0);
	watch_pages(t, &m, 8, 8, WTRACK_WATCH_DIRTY);
	for (size_t i = 0; i < 16; i++)
		store(&m, i);
	assert_int_equal(advise(t, &m, 3, 2, WTRACK_ADVISE_ARM), 0);
	expect_pages(t, &m, WTRACK_GET, 0, 1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13,
		     14, 15);
	assert_int_equal(look_at(t, &m, 3), 0);
	/* [K-soft-new] softdirty marks what is new as degraded. */
	assert_int_equal(look_at(t, &m, 2) & ~(uint64_t)WTRACK_RUN_DEGRADED,
			 WTRACK_RUN_WRITTEN);
	assert_int_equal(advise(t, &m, 0, 16, WTRACK_ADVISE_ARM), 0);
	expect_clean(t);
	store(&m, 12);
	assert_int_equal(look_at(t, &m, 12), WTRACK_RUN_WRITTEN);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Hot or not. */
static void arming_is_stronger_than_a_policy(void **state)
{
	struct wtrack *t = open_policy(*state, &rescan_soon);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 16, 0);
	for (int round = 0; round < 20; round++) {
		store(&m, 3);
		store(&m, 4);
		clear_all(t);
		assert_int_equal(advise(t, &m, 3, 2, WTRACK_ADVISE_ARM), 0);
		expect_clean(t);
		store(&m, 3);
		assert_int_equal(look_at(t, &m, 3), WTRACK_RUN_WRITTEN);
		assert_int_equal(look_at(t, &m, 4), 0);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* What it is for. */
static void no_fault_is_taken_on_advised_pages(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	uint64_t faults, counted;

	watch_pages(t, &m, 0, 16, 0);
	store(&m, 15);
	counted = stats_of(t).faults;
	assert_int_equal(advise(t, &m, 0, 8, WTRACK_ADVISE_WRITES), 0);
	faults = stats_of(t).faults;
	for (int round = 0; round < 10; round++) {
		for (size_t i = 0; i < 8; i++)
			store(&m, i);
		clear_all(t);
	}
	assert_int_equal(stats_of(t).faults, faults);
	assert_true(stats_of(t).presumed >= 80);
	store(&m, 15);
	assert_int_equal(stats_of(t).faults, faults + counted);
	wtrack_close(t);
	mem_unmap(&m);
}

static void a_query_tells_what_is_left_un_armed(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 16, 0);
	assert_false(range_flags(t, page_of(&m, 3)) & WTRACK_RANGE_UNARMED);
	assert_int_equal(advise(t, &m, 3, 1, WTRACK_ADVISE_WRITES), 0);
	assert_true(range_flags(t, page_of(&m, 3)) & WTRACK_RANGE_UNARMED);
	assert_false(range_flags(t, page_of(&m, 2)) & WTRACK_RANGE_UNARMED);
	assert_false(range_flags(t, page_of(&m, 4)) & WTRACK_RANGE_UNARMED);
	assert_int_equal(advise(t, &m, 3, 1, WTRACK_ADVISE_ARM), 0);
	assert_false(range_flags(t, page_of(&m, 3)) & WTRACK_RANGE_UNARMED);
	wtrack_close(t);
	mem_unmap(&m);
}

/* One byte; a byte each side of a border; over ranges that touch. */
static void advice_is_of_whole_pages(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 8, 0);
	watch_pages(t, &m, 8, 8, 0);
	assert_int_equal(
		wtrack_advise(t, page_of(&m, 1) + 77, 1, WTRACK_ADVISE_WRITES),
		0);
	expect_presumed(t, &m, 1, 2, BOTH);
	assert_int_equal(
		wtrack_advise(t, page_of(&m, 2) - 1, 2, WTRACK_ADVISE_WRITES),
		0);
	expect_presumed(t, &m, 1, 3, BOTH);
	assert_int_equal(wtrack_advise(t, page_of(&m, 3) - 1, 6 * m.page,
				       WTRACK_ADVISE_WRITES),
			 0);
	expect_presumed(t, &m, 1, 9, BOTH);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Also for whoever watches the same memory again. */
static void unwatching_forgets_advice(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	for (int round = 0; round < 3; round++) {
		watch_pages(t, &m, 0, 16, 0);
		expect_clean(t);
		assert_int_equal(advise(t, &m, 2, 9, WTRACK_ADVISE_WRITES), 0);
		clear_all(t);
		unwatch_pages(t, &m, 4, 2);
		watch_pages(t, &m, 4, 2, 0);
		expect_pages(t, &m, WTRACK_GET, 2, 3, 6, 7, 8, 9, 10);
		assert_int_equal(look_at(t, &m, 4), 0);
		unwatch_pages(t, &m, 0, 16);
		wtrack_close(t);
		t = open_on(*state);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

static void bad_advice_is_refused(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	static const int bad[] = { 0, 4, -1, INT_MAX, INT_MIN };
	static const int good[] = { WTRACK_ADVISE_WRITES, WTRACK_ADVISE_ARM,
				    WTRACK_ADVISE_NORMAL };

	watch_pages(t, &m, 0, 8, 0);
	watch_pages(t, &m, 10, 4, 0);
	store(&m, 1);
	for (size_t i = 0; i < 5; i++)
		assert_returns(-EINVAL, advise(t, &m, 0, 1, bad[i]));
	for (size_t i = 0; i < 3; i++) {
		assert_returns(-EINVAL, advise(NULL, &m, 0, 1, good[i]));
		assert_returns(-EINVAL, advise(t, &m, 0, 0, good[i]));
		assert_returns(-EINVAL,
			       wtrack_advise(t, page_of(&m, 1),
					     SIZE_MAX - m.page, good[i]));
		/* A gap, the end, and nothing at all. */
		assert_returns(-ENOENT, advise(t, &m, 0, 12, good[i]));
		assert_returns(-ENOENT, advise(t, &m, 13, 2, good[i]));
		assert_returns(-ENOENT, advise(t, &m, 15, 1, good[i]));
	}
	expect_pages(t, &m, BOTH, 1);
	expect_clean(t);
	wtrack_close(t);
	mem_unmap(&m);
}

/* [G3] */
static void what_was_replaced_is_not_armed(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 16, 0);
	assert_ptr_equal(mmap(page_of(&m, 5), m.page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 page_of(&m, 5));
	assert_returns(-ENOENT, advise(t, &m, 4, 3, WTRACK_ADVISE_ARM));
	assert_true(look_at(t, &m, 5) & WTRACK_RUN_LOST);
	wtrack_close(t);
	mem_unmap(&m);
}

/* The n-th mapping fails: nothing was advised. [G3] */
static void without_memory_nothing_is_left_un_armed(void **state)
{
	bool failed = false;

	for (int n = 1; n < 6; n++) {
		struct mem m = map_unknown(600);
		struct wtrack *t = open_on(*state);
		int rc;

		watch_pages(t, &m, 0, 600, 0);
		fail_entry(WT_SYS_MMAP, n, 1, -ENOMEM);
		rc = advise(t, &m, 0, 600, WTRACK_ADVISE_WRITES);
		fail_no_more();
		failed |= rc == -ENOMEM;
		if (rc)
			assert_int_equal(rc, -ENOMEM);
		if (rc)
			expect_clean(t);
		else
			expect_presumed(t, &m, 0, 600, BOTH);
		store(&m, 7);
		assert_true(look_at(t, &m, 7));
		wtrack_close(t);
		mem_unmap(&m);
	}
	assert_true(failed);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(what_will_be_written_is_reported_until_armed),
		CASE_NEEDS(other_advice_ends_it, WTRACK_CAP_PRECISE),
		CASE_NEEDS(arming_forgets_what_was_written, WTRACK_CAP_PRECISE),
		CASE_NEEDS(arming_is_stronger_than_a_policy,
			   WTRACK_CAP_PRECISE),
		CASE_NEEDS(no_fault_is_taken_on_advised_pages,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(a_query_tells_what_is_left_un_armed,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(advice_is_of_whole_pages, WTRACK_CAP_PRECISE),
		CASE_NEEDS(unwatching_forgets_advice, WTRACK_CAP_PRECISE),
		CASE_EACH(bad_advice_is_refused),
		/* Without it, what replaced a mapping is simply protected. */
		CASE_NEEDS(what_was_replaced_is_not_armed,
			   WTRACK_CAP_LOSS | WTRACK_CAP_PROTECT),
		CASE_NEEDS(without_memory_nothing_is_left_un_armed,
			   WTRACK_CAP_PRECISE),
	};

	return RUN_CASES("advise", cases);
}
