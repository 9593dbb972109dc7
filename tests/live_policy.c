/* SPDX-License-Identifier: MIT */
/* live_policy.c: policies of handles and of parts, and what they spare. */
#include "support_costs.h"
#include "support_live.h"

#include "heat.h"
#include "uapi.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

/* A false page is so dear that nothing is ever put off. */
#define DEAR 1048560

static const struct wtrack_policy exact =
	WTRACK_POLICY_INIT(WTRACK_POLICY_EXACT);
static const struct wtrack_policy rescan = {
	sizeof(rescan), WTRACK_POLICY_RESCAN, 0, 0, 0, DEAR
};
static const struct wtrack_policy copy = {
	sizeof(copy), WTRACK_POLICY_COPY, 0, 0, 0, DEAR
};

static int set(struct wtrack *t, const struct mem *m, size_t page, size_t n,
	       const struct wtrack_policy *policy)
{
	return wtrack_set_policy(t, page_of(m, page), n * m->page, policy);
}

static struct wtrack_range_info query(struct wtrack *t, const void *addr)
{
	struct wtrack_range_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_query(t, addr, &info), 0);
	return info;
}

static struct wtrack_info info_of(struct wtrack *t)
{
	struct wtrack_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_info(t, &info), 0);
	return info;
}

static uint32_t policy_of(struct wtrack *t)
{
	return info_of(t).policy;
}

/* The range of page `first` is [first, end) and has this policy. */
static void expect_range(struct wtrack *t, const struct mem *m, size_t first,
			 size_t end, uint32_t kind)
{
	for (size_t i = first; i < end; i++) {
		struct wtrack_range_info info = query(t, page_of(m, i));

		assert_int_equal(info.start, (uintptr_t)page_of(m, first));
		assert_int_equal(info.end, (uintptr_t)page_of(m, end));
		assert_int_equal(info.policy, kind);
	}
}

/* ---- which policy there is ---- */

static void memory_is_exact_unless_told_otherwise(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 8, true);
	struct wtrack_range_info info;

	watch_pages(t, &m, 0, 8, 0);
	assert_int_equal(policy_of(t), WTRACK_POLICY_EXACT);
	info = query(t, m.base);
	assert_int_equal(info.policy, WTRACK_POLICY_EXACT);
	assert_int_equal(info.after | info.from | info.to | info.page_ns, 0);
	assert_int_equal(info.reserved, 0);
	wtrack_close(t);
	mem_unmap(&m);
}

/* With what 0 stands for; the price to within 16 ns. */
static void a_query_tells_the_policy(void **state)
{
	struct wtrack_policy own = { sizeof(own), WTRACK_POLICY_COPY, 3, 4, 256,
				     777 };
	const struct wtrack_policy plain =
		WTRACK_POLICY_INIT(WTRACK_POLICY_RESCAN);
	struct wtrack *t = open_policy(*state, &plain);
	struct mem m = mem_map(MEM_ANON, 8, true);
	struct wtrack_range_info info;

	watch_pages(t, &m, 0, 8, 0);
	assert_int_equal(policy_of(t), WTRACK_POLICY_RESCAN);
	info = query(t, m.base);
	assert_int_equal(info.policy, WTRACK_POLICY_RESCAN);
	assert_int_equal(info.after, 1);
	assert_int_equal(info.from, 8);
	assert_int_equal(info.to, 64);
	assert_in_range(info.page_ns, 1500 - 15, 1500 + 15);
	assert_int_equal(set(t, &m, 0, 8, &own), 0);
	info = query(t, m.base);
	assert_int_equal(info.policy, WTRACK_POLICY_COPY);
	assert_int_equal(info.after, 3);
	assert_int_equal(info.from, 4);
	assert_int_equal(info.to, 256);
	assert_in_range(info.page_ns, 777 - 15, 777 + 15);
	assert_int_equal(info.reserved, 0);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Once: another handle reckons with the same. */
static void costs_are_measured(void **state)
{
	struct wtrack *t = open_policy(*state, &rescan), *other;
	struct wtrack_info info = info_of(t), again;

	assert_true(info.fault_ns && info.arm_ns && info.fused_ns);
	other = open_on(*state);
	assert_int_equal(wtrack_set_policy(other, NULL, 0, &copy), 0);
	again = info_of(other);
	assert_int_equal(again.fault_ns, info.fault_ns);
	assert_int_equal(again.arm_ns, info.arm_ns);
	assert_int_equal(again.arm_page_ns, info.arm_page_ns);
	assert_int_equal(again.fused_ns, info.fused_ns);
	assert_int_equal(again.reserved, 0);
	wtrack_close(other);
	wtrack_close(t);
}

static void a_handle_has_one_for_all_that_it_watches(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 24, true);

	watch_pages(t, &m, 0, 4, 0);
	watch_pages(t, &m, 8, 8, 0);
	assert_int_equal(set(t, &m, 10, 2, &copy), 0);
	assert_int_equal(wtrack_set_policy(t, NULL, 0, &rescan), 0);
	assert_int_equal(policy_of(t), WTRACK_POLICY_RESCAN);
	watch_pages(t, &m, 20, 4, 0);
	expect_range(t, &m, 0, 4, WTRACK_POLICY_RESCAN);
	expect_range(t, &m, 8, 16, WTRACK_POLICY_RESCAN);
	expect_range(t, &m, 20, 24, WTRACK_POLICY_RESCAN);
	assert_int_equal(wtrack_set_policy(t, NULL, 0, &exact), 0);
	assert_int_equal(policy_of(t), WTRACK_POLICY_EXACT);
	expect_range(t, &m, 8, 16, WTRACK_POLICY_EXACT);
	wtrack_close(t);
	mem_unmap(&m);
}

static void ranges_split_and_join_again(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 16, 0);
	store(&m, 1);
	store(&m, 5);
	assert_int_equal(set(t, &m, 4, 4, &copy), 0);
	assert_int_equal(policy_of(t), WTRACK_POLICY_EXACT);
	expect_range(t, &m, 0, 4, WTRACK_POLICY_EXACT);
	expect_range(t, &m, 4, 8, WTRACK_POLICY_COPY);
	expect_range(t, &m, 8, 16, WTRACK_POLICY_EXACT);
	/* Over the border of two; then of one policy, and of another. */
	assert_int_equal(set(t, &m, 6, 6, &rescan), 0);
	expect_range(t, &m, 4, 6, WTRACK_POLICY_COPY);
	expect_range(t, &m, 6, 12, WTRACK_POLICY_RESCAN);
	assert_int_equal(set(t, &m, 4, 2, &rescan), 0);
	expect_range(t, &m, 4, 12, WTRACK_POLICY_RESCAN);
	/* What has been under a policy differs from what has not. */
	assert_int_equal(set(t, &m, 2, 12, &exact), 0);
	expect_range(t, &m, 4, 12, WTRACK_POLICY_EXACT);
	assert_int_equal(set(t, &m, 0, 16, &copy), 0);
	expect_range(t, &m, 0, 16, WTRACK_POLICY_COPY);
	assert_int_equal(wtrack_set_policy(t, NULL, 0, &exact), 0);
	expect_range(t, &m, 0, 16, WTRACK_POLICY_EXACT);
	expect_pages(t, &m, BOTH, 1, 5);
	expect_none(t, &m);
	unwatch_pages(t, &m, 0, 16);
	assert_int_equal(stats_of(t).ranges, 0);
	wtrack_close(t);
	mem_unmap(&m);
}

/*
 * In blocks of their own, so that none is armed along with others.  Where a
 * block is best looked at and cleared in one, that is found out later.
 */
static void each_part_follows_its_own(void **state)
{
	const size_t block = WT_HEAT_PAGES;
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_THP, 3 * block, true);
	static struct view v;
	int late = 0;

	watch_pages(t, &m, 0, 3 * block, 0);
	assert_int_equal(set(t, &m, block, block, &rescan), 0);
	assert_int_equal(set(t, &m, 2 * block, block, &copy), 0);
	for (int epoch = 0; epoch < 4; epoch++) {
		for (size_t i = 3; i < 3 * block; i += block)
			store(&m, i);
		clear_all(t);
		view_collect(&v, t, &m, 64, WTRACK_GET);
		assert_int_equal(v.flags[3], 0);
		assert_int_equal(v.flags[block + 3] & ~kept_huge_flags(),
				 WTRACK_RUN_PRESUMED);
		late += (v.flags[2 * block + 3] & ~kept_huge_flags()) ==
			WTRACK_RUN_PRESUMED;
		assert_true(epoch || !late);
	}
	assert_true(late > 0);
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- a look in the midst of a clearing ---- */

static struct {
	struct wtrack *t;
	struct wtrack_run runs[4]; /* when the first is about to be armed */
	ssize_t n;
} between;

/* Another thread may look at any time: here, before the first arming. */
static bool look_before_arming(enum wt_sys id, const long args[6], long *result)
{
	(void)result;
	if (id != WT_SYS_MPROTECT &&
	    (id != WT_SYS_IOCTL ||
	     (unsigned long)args[1] != WT_UFFDIO_WRITEPROTECT))
		return false;
	at_the_door(NULL);
	between.n =
		wtrack_collect(between.t, NULL, between.runs, 4, WTRACK_GET);
	return false;
}

/* [G2] A page is not said to be written because it is about to be armed. */
static void what_is_presumed_is_so_until_it_is_armed(void **state)
{
	const struct wtrack_policy soon = {
		sizeof(soon), WTRACK_POLICY_RESCAN, 1, 2, 4, 0
	};
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 4, true);
	static struct view v;
	size_t presumed = 0;

	watch_pages(t, &m, 0, 4, 0);
	assert_int_equal(set(t, &m, 0, 4, &soon), 0);
	pretend_costs(t, RUNS_CHEAP);
	between.t = t;
	for (int epoch = 0; epoch < 40; epoch++) {
		store(&m, 0);
		between.n = 0;
		at_the_door(look_before_arming);
		view_collect(&v, t, &m, 64, BOTH);
		at_the_door(NULL);
		if (!between.n || v.flags[0] != WTRACK_RUN_PRESUMED)
			continue;
		assert_int_equal(between.n, 1);
		assert_false(between.runs[0].flags & WTRACK_RUN_WRITTEN);
		presumed++;
	}
	assert_true(presumed > 0);
	pretend_costs(t, AS_MEASURED);
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- errors ---- */

static void expect_refused(struct wtrack *t, const struct mem *m,
			   const struct wtrack_policy *policy, int error)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct wtrack *other = NULL;

	options.policy = policy;
	options.backend = "all";
	assert_returns(error, wtrack_open(&options, &other));
	assert_null(other);
	assert_returns(error, set(t, m, 0, 8, policy));
	assert_returns(error, wtrack_set_policy(t, NULL, 0, policy));
	assert_int_equal(query(t, m->base).policy, WTRACK_POLICY_EXACT);
	assert_int_equal(policy_of(t), WTRACK_POLICY_EXACT);
}

static void bad_policies_are_refused(void **state)
{
	const struct wtrack_policy bad[] = {
		{ 0, 1, 0, 0, 0, 0 },
		{ sizeof(size_t) - 1, 1, 0, 0, 0, 0 },
		{ sizeof(bad[0]), 3, 0, 0, 0, 0 },
		{ sizeof(bad[0]), 1, 5, 0, 0, 0 },
		{ sizeof(bad[0]), 1, 0, 3, 0, 0 },
		{ sizeof(bad[0]), 1, 0, 8, 4, 0 },
		{ sizeof(bad[0]), 1, 0, 2, 512, 0 },
		{ sizeof(bad[0]), 0, 1, 0, 0, 0 },
	};
	struct {
		struct wtrack_policy now;
		uint64_t more;
	} longer = { { sizeof(longer), 1, 0, 0, 0, 0 }, 1 };
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 8, true);

	watch_pages(t, &m, 0, 8, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_refused(t, &m, &bad[i], -EINVAL);
	expect_refused(t, &m, &longer.now, -E2BIG);
	assert_returns(-EINVAL, set(t, &m, 0, 8, NULL));
	assert_returns(-EINVAL, wtrack_set_policy(t, NULL, 0, NULL));
	wtrack_close(t);
	mem_unmap(&m);
}

static void bad_parts_are_refused(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	size_t page = m.page;

	watch_pages(t, &m, 0, 8, 0);
	watch_pages(t, &m, 10, 4, 0);
	assert_returns(-EINVAL, set(NULL, &m, 0, 8, &copy));
	assert_returns(-EINVAL, wtrack_set_policy(NULL, NULL, 0, &copy));
	assert_returns(-EINVAL, wtrack_set_policy(t, m.base, 0, &copy));
	assert_returns(-EINVAL, wtrack_set_policy(t, m.base + 1, page, &copy));
	assert_returns(-EINVAL, wtrack_set_policy(t, m.base, page + 1, &copy));
	assert_returns(-EINVAL, wtrack_set_policy(t, m.base, -page, &copy));
	assert_returns(-ENOENT, set(t, &m, 0, 12, &copy));
	assert_returns(-ENOENT, set(t, &m, 8, 1, &copy));
	assert_returns(-ENOENT, set(t, &m, 12, 4, &copy));
	expect_range(t, &m, 0, 8, WTRACK_POLICY_EXACT);
	expect_range(t, &m, 10, 14, WTRACK_POLICY_EXACT);
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- what is spared ---- */

/* Un-armed pages fault no more, and say that they are presumed. */
static void hot_pages_cost_no_faults(void **state)
{
	struct wtrack *t = open_policy(*state, &rescan);
	struct mem m = mem_map(MEM_ANON, 16, true);
	uint64_t faults;

	watch_pages(t, &m, 0, 16, 0);
	store(&m, 3);
	assert_int_equal(look_at(t, &m, 3), WTRACK_RUN_WRITTEN);
	clear_all(t);
	faults = stats_of(t).faults;
	/* It waits for 4 epochs at least. */
	for (int epoch = 0; epoch < 3; epoch++) {
		assert_true(query(t, page_of(&m, 3)).flags &
			    WTRACK_RANGE_UNARMED);
		assert_int_equal(look_at(t, &m, 3), WTRACK_RUN_PRESUMED);
		store(&m, 3);
		assert_true(look_at(t, &m, 3) & WTRACK_RUN_PRESUMED);
		clear_all(t);
	}
	assert_int_equal(stats_of(t).faults, faults);
	assert_int_equal(stats_of(t).presumed, 3);
	assert_true(stats_of(t).faults_avoided > 0);
	assert_false(query(t, page_of(&m, 4)).flags & WTRACK_RANGE_UNARMED);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Pages that were left un-armed stay presumed until they are armed. */
static void exact_again_is_exact_from_the_next_clearing_on(void **state)
{
	struct wtrack *t = open_policy(*state, &rescan);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 16, 0);
	store(&m, 3);
	store(&m, 9);
	clear_all(t);
	assert_int_equal(wtrack_set_policy(t, NULL, 0, &exact), 0);
	assert_int_equal(look_at(t, &m, 3), WTRACK_RUN_PRESUMED);
	store(&m, 4);
	expect_pages(t, &m, BOTH, 3, 4, 9);
	expect_none(t, &m);
	for (int i = 0; i < 5; i++) {
		store(&m, 3);
		assert_int_equal(look_at(t, &m, 3), WTRACK_RUN_WRITTEN);
		expect_pages(t, &m, BOTH, 3);
		assert_int_equal(look_at(t, &m, 3), 0);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* A snapshot is a collection like any other. */
static void snapshots_have_what_is_presumed(void **state)
{
	struct wtrack *t = open_policy(*state, &rescan);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct wtrack_snapshot *s = NULL;

	watch_pages(t, &m, 0, 16, 0);
	store(&m, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wtrack_snapshot(t, &s), 0);
		assert_int_equal(wtrack_snapshot_pages(s), 1);
		assert_true(wtrack_snapshot_contains(s, page_of(&m, 3)));
	}
	wtrack_snapshot_free(s);
	wtrack_close(t);
	mem_unmap(&m);
}

static void unwatching_forgets_what_is_hot(void **state)
{
	struct wtrack *t = open_policy(*state, &rescan);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 16, 0);
	for (size_t i = 0; i < 16; i++)
		store(&m, i);
	clear_all(t);
	unwatch_pages(t, &m, 0, 16);
	watch_pages(t, &m, 0, 16, 0);
	expect_none(t, &m);
	assert_int_equal(look_at(t, &m, 3), 0);
	wtrack_close(t);
	mem_unmap(&m);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(memory_is_exact_unless_told_otherwise),
		CASE_NEEDS(a_query_tells_the_policy, WTRACK_CAP_PRECISE),
		CASE_NEEDS(costs_are_measured,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(a_handle_has_one_for_all_that_it_watches,
			   WTRACK_CAP_PRECISE),
		CASE_NEEDS(ranges_split_and_join_again, WTRACK_CAP_PRECISE),
		CASE_NEEDS(each_part_follows_its_own,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(what_is_presumed_is_so_until_it_is_armed,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_EACH(bad_policies_are_refused),
		CASE_EACH(bad_parts_are_refused),
		CASE_NEEDS(hot_pages_cost_no_faults,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(exact_again_is_exact_from_the_next_clearing_on,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(snapshots_have_what_is_presumed,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(unwatching_forgets_what_is_hot,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
	};

	return RUN_CASES("policy", cases);
}
