/* SPDX-License-Identifier: MIT */
/*
 * live_clear.c: a look, and a clearing of what it reported, are a collection.
 */
#include "support_live.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#define BOTH    (WTRACK_GET | WTRACK_CLEAR)
#define PAGES_N 64

/* Looks at all; how many runs there are. */
static size_t look(struct wtrack *t, struct wtrack_run runs[PAGES_N])
{
	ssize_t n = wtrack_collect(t, NULL, runs, PAGES_N, WTRACK_GET);

	assert_in_range(n, 0, PAGES_N - 1);
	return (size_t)n;
}

/* Looks at all and clears it; the view is that of a collection. */
static void look_and_clear(struct view *v, struct wtrack *t,
			   const struct mem *m)
{
	struct wtrack_run runs[PAGES_N];

	view_collect(v, t, m, PAGES_N, WTRACK_GET);
	assert_returns(0, wtrack_clear(t, runs, look(t, runs)));
}

static void clear_kind(struct wtrack *t, enum mem_kind kind)
{
	for (int populate = 0; populate < 2; populate++) {
		struct mem m = mem_map(kind, 8, populate);
		struct view v;

		watch_pages(t, &m, 0, 8, 0);
		for (int round = 0; round < 3; round++) {
			store(&m, 1);
			store(&m, 2);
			store(&m, 7);
			look_and_clear(&v, t, &m);
			view_expect(&v, t, &m, PAGES(1, 2, 7));
			expect_none(t, &m);
			store(&m, 2);
			expect_pages(t, &m, BOTH, 2);
		}
		unwatch_pages(t, &m, 0, 8);
		mem_unmap(&m);
	}
}

static void what_was_looked_at_becomes_clean(void **state)
{
	for_each_kind(clear_kind, *state);
}

/* Two handles, on memory alike and written alike. */
struct twin {
	struct wtrack *t;
	struct mem m;
	struct view v;
};

static void twin_open(struct twin *x, const char *backend,
		      const struct wtrack_policy *policy)
{
	x->t = open_policy(backend, policy);
	x->m = mem_map(MEM_ANON, PAGES_N, true);
	watch_pages(x->t, &x->m, 0, 16, 0);
	watch_pages(x->t, &x->m, 16, 16, WTRACK_WATCH_DIRTY);
	watch_pages(x->t, &x->m, 40, 8, 0);
}

static void twin_close(struct twin *x)
{
	wtrack_close(x->t);
	mem_unmap(&x->m);
}

/* Exact pages have no epochs, so that it does not matter that none ends. */
static void it_equals_a_collection(void **state)
{
	static struct twin x, y;
	struct dice dice = { 7 };

	twin_open(&x, *state, NULL);
	twin_open(&y, *state, NULL);
	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < 12; i++) {
			size_t page = roll(&dice, PAGES_N);

			store(&x.m, page);
			store(&y.m, page);
		}
		look_and_clear(&x.v, x.t, &x.m);
		view_collect(&y.v, y.t, &y.m, PAGES_N, BOTH);
		assert_memory_equal(x.v.flags, y.v.flags, sizeof(x.v.flags));
		view_collect(&x.v, x.t, &x.m, PAGES_N, WTRACK_GET);
		view_collect(&y.v, y.t, &y.m, PAGES_N, WTRACK_GET);
		assert_memory_equal(x.v.flags, y.v.flags, sizeof(x.v.flags));
	}
	twin_close(&x);
	twin_close(&y);
}

/* [G6] */
static void other_runs_keep_their_state(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, PAGES_N, true);
	struct wtrack_run runs[PAGES_N], some[3];

	watch_pages(t, &m, 0, PAGES_N, 0);
	for (size_t i = 1; i < 12; i += 2)
		store(&m, i);
	assert_int_equal(look(t, runs), 6);
	some[0] = runs[0];
	some[1] = runs[2];
	some[2] = runs[5];
	assert_returns(0, wtrack_clear(t, some, 3));
	expect_pages(t, &m, WTRACK_GET, 3, 7, 9);
	assert_returns(0, wtrack_clear(t, &runs[1], 1));
	expect_pages(t, &m, BOTH, 7, 9);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

/* The rest of it stays initial, whatever the order. */
static void initial_runs_are_cleared(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct wtrack_run runs[PAGES_N];
	struct view v;

	watch_pages(t, &m, 0, 16, WTRACK_WATCH_DIRTY);
	store(&m, 3);
	look_and_clear(&v, t, &m);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(v.flags[i], WTRACK_RUN_INITIAL);
	expect_none(t, &m);
	unwatch_pages(t, &m, 0, 16);

	watch_pages(t, &m, 0, 16, WTRACK_WATCH_DIRTY);
	assert_int_equal(look(t, runs), 1);
	runs[0].end = (uintptr_t)page_of(&m, 4);
	assert_returns(0, wtrack_clear(t, runs, 1));
	view_collect(&v, t, &m, 16, WTRACK_GET);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(v.flags[i], i < 4 ? 0 : WTRACK_RUN_INITIAL);
	store(&m, 2);
	view_collect(&v, t, &m, 16, BOTH);
	assert_int_equal(v.flags[2], WTRACK_RUN_WRITTEN);
	assert_int_equal(v.flags[5], WTRACK_RUN_INITIAL);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

static void bad_runs_are_refused_and_nothing_is_done(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	uintptr_t p = (uintptr_t)m.base, page = m.page;
	const uint64_t f = WTRACK_RUN_WRITTEN;
	const struct wtrack_run bad[][2] = {
		/* Descending, overlapping, the same twice. */
		{ { p + 4 * page, p + 5 * page, f }, { p, p + page, f } },
		{ { p, p + 2 * page, f }, { p + page, p + 3 * page, f } },
		{ { p, p + page, f }, { p, p + page, f } },
		/* Empty, backwards, and not of whole pages. */
		{ { p, p + page, f }, { p + page, p + page, f } },
		{ { p, p + page, f }, { p + 3 * page, p + 2 * page, f } },
		{ { p, p + page, f }, { p + 2 * page + 1, p + 3 * page, f } },
		{ { p, p + page, f }, { p + 2 * page, p + 3 * page - 1, f } },
		{ { p, p, f }, { p + 2 * page, p + 3 * page, f } },
		{ { p + 1, p + page, f }, { p + 2 * page, p + 3 * page, f } },
	};

	watch_pages(t, &m, 0, 16, 0);
	for (size_t i = 0; i < 6; i++)
		store(&m, i);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_returns(-EINVAL, wtrack_clear(t, bad[i], 2));
		expect_pages(t, &m, WTRACK_GET, 0, 1, 2, 3, 4, 5);
	}
	assert_returns(-EINVAL, wtrack_clear(t, NULL, 1));
	assert_returns(-EINVAL, wtrack_clear(NULL, bad[0], 1));
	assert_returns(0, wtrack_clear(t, NULL, 0));
	assert_returns(0, wtrack_clear(t, bad[0], 0));
	expect_pages(t, &m, BOTH, 0, 1, 2, 3, 4, 5);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Between the look and the clearing a part goes, and another comes. */
static void what_is_not_watched_is_passed_over(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 32, true);
	struct wtrack_run run = { (uintptr_t)page_of(&m, 0),
				  (uintptr_t)page_of(&m, 32),
				  WTRACK_RUN_WRITTEN };

	watch_pages(t, &m, 4, 20, 0);
	for (size_t i = 4; i < 24; i++)
		store(&m, i);
	unwatch_pages(t, &m, 8, 4);
	assert_returns(0, wtrack_clear(t, &run, 1));
	expect_none(t, &m);
	store(&m, 7);
	store(&m, 9);
	store(&m, 12);
	expect_pages(t, &m, BOTH, 7, 12);
	unwatch_pages(t, &m, 4, 4);
	unwatch_pages(t, &m, 12, 12);
	assert_returns(0, wtrack_clear(t, &run, 1));
	wtrack_close(t);
	mem_unmap(&m);
}

static void map_over(const struct mem *m, size_t page)
{
	assert_ptr_equal(mmap(page_of(m, page), m->page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 page_of(m, page));
}

/* What was reported as lost stays so, and the rest becomes clean. */
static void lost_runs_are_passed_over(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct view v;

	watch_pages(t, &m, 0, 16, 0);
	store(&m, 2);
	store(&m, 9);
	map_over(&m, 5);
	look_and_clear(&v, t, &m);
	assert_true(v.flags[5] & WTRACK_RUN_LOST);
	view_collect(&v, t, &m, 16, WTRACK_GET);
	assert_true(v.flags[5] & WTRACK_RUN_LOST);
	assert_int_equal(v.flags[2], 0);
	assert_int_equal(v.flags[9], 0);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Lost after the look: the other runs are cleared all the same. [G3] */
static void what_is_lost_since_the_look_is_told(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct wtrack_run runs[PAGES_N];
	struct view v;
	size_t n;

	watch_pages(t, &m, 0, 16, 0);
	store(&m, 2);
	store(&m, 5);
	store(&m, 9);
	n = look(t, runs);
	map_over(&m, 5);
	assert_returns(-ENOENT, wtrack_clear(t, runs, n));
	view_collect(&v, t, &m, 16, WTRACK_GET);
	assert_true(v.flags[5] & WTRACK_RUN_LOST);
	assert_int_equal(v.flags[2], 0);
	assert_int_equal(v.flags[9], 0);
	wtrack_close(t);
	mem_unmap(&m);
}

/* No pass is made: epochs end with those. */
static void it_ends_no_epoch(void **state)
{
	struct wtrack_info info = { .size = sizeof(info) };
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct view v;

	watch_pages(t, &m, 0, 16, 0);
	store(&m, 3);
	look_and_clear(&v, t, &m);
	assert_int_equal(wtrack_info(t, &info), 0);
	assert_int_equal(info.epoch, 0);
	wtrack_close(t);
	mem_unmap(&m);
}

static void idle(struct teammate *self)
{
	(void)self;
}

/* [G3] Nothing is cleared that a thread may be writing to. */
static void beside_other_threads_it_may_be_refused(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct wtrack_run runs[PAGES_N];
	struct team team;
	bool can;
	size_t n;

	can = caps_of(t) & WTRACK_CAP_CONCURRENT;
	watch_pages(t, &m, 0, 16, 0);
	store(&m, 3);
	team_init(&team, NULL);
	team_add(&team, idle);
	n = look(t, runs);
	assert_returns(can ? 0 : -EAGAIN, wtrack_clear(t, runs, n));
	if (can)
		expect_none(t, &m);
	else
		expect_pages(t, &m, WTRACK_GET, 3);
	team_end(&team);
	wtrack_close(t);
	mem_unmap(&m);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(what_was_looked_at_becomes_clean),
		CASE_EACH(it_equals_a_collection),
		CASE_NEEDS(other_runs_keep_their_state, WTRACK_CAP_PRECISE),
		CASE_NEEDS(initial_runs_are_cleared, WTRACK_CAP_PRECISE),
		CASE_EACH(bad_runs_are_refused_and_nothing_is_done),
		CASE_EACH(what_is_not_watched_is_passed_over),
		CASE_NEEDS(lost_runs_are_passed_over, WTRACK_CAP_LOSS),
		/* Without it, what replaced a mapping is simply protected. */
		CASE_NEEDS(what_is_lost_since_the_look_is_told,
			   WTRACK_CAP_LOSS | WTRACK_CAP_PROTECT),
		CASE_EACH(it_ends_no_epoch),
		CASE_EACH(beside_other_threads_it_may_be_refused),
	};

	return RUN_CASES("clear", cases);
}
