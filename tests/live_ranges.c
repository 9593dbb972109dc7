/* SPDX-License-Identifier: MIT */
/* live_ranges.c: ranges, parts of them, neighbours, and several handles. */
#include "support_live.h"

#include <errno.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

static void adjacent_ranges_answer_with_one_run(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 64, true);
	struct view v;

	/* Out of order, and of different lengths. */
	watch_pages(t, &m, 32, 32, 0);
	watch_pages(t, &m, 0, 1, 0);
	for (size_t i = 31; i > 0; i--)
		watch_pages(t, &m, i, 1, 0);
	for (size_t i = 10; i < 50; i++)
		store(&m, i);
	view_collect(&v, t, &m, 64, WTRACK_GET);
	assert_int_equal(v.runs, 1);
	view_collect(&v, t, &m, 1, BOTH);
	assert_int_equal(v.runs, 1);
	expect_none(t, &m);
	assert_int_equal(stats_of(t).ranges, 1);
	wtrack_close(t);
	mem_unmap(&m);
}

static void a_gap_between_ranges_is_never_reported(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 64, true);
	struct view v;

	for (size_t i = 0; i < 64; i += 4)
		watch_pages(t, &m, i, 2, 0);
	for (size_t i = 0; i < 64; i++)
		store(&m, i);
	view_collect(&v, t, &m, 3, BOTH);
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(v.flags[i] != 0, i % 4 < 2);
	assert_int_equal(v.runs, 16);
	wtrack_close(t);
	mem_unmap(&m);
}

static void unwatching_takes_any_part(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 32, true);

	watch_pages(t, &m, 0, 8, 0);
	watch_pages(t, &m, 8, 8, 0);
	watch_pages(t, &m, 16, 16, 0);
	for (size_t i = 0; i < 32; i++)
		store(&m, i);
	unwatch_pages(t, &m, 6, 4);  /* over a border */
	unwatch_pages(t, &m, 0, 1);  /* a head */
	unwatch_pages(t, &m, 31, 1); /* a tail */
	unwatch_pages(t, &m, 20, 2); /* out of the middle */
	expect_pages(t, &m, WTRACK_GET, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15,
		     16, 17, 18, 19, 22, 23, 24, 25, 26, 27, 28, 29, 30);
	assert_int_equal(look_at(t, &m, 0), 0);
	assert_int_equal(look_at(t, &m, 7), 0);
	assert_int_equal(look_at(t, &m, 21), 0);
	assert_int_equal(stats_of(t).watched_bytes, 24 * m.page);
	assert_int_equal(wtrack_unwatch(t, page_of(&m, 18), 4 * m.page),
			 -ENOENT);
	assert_int_equal(look_at(t, &m, 18) != 0, 1);
	clear_all(t);
	for (size_t i = 0; i < 32; i++)
		store(&m, i);
	assert_int_equal(look_at(t, &m, 6), 0);
	assert_int_not_equal(look_at(t, &m, 22), 0);
	unwatch_pages(t, &m, 10, 10);
	unwatch_pages(t, &m, 22, 9);
	unwatch_pages(t, &m, 1, 5);
	assert_int_equal(stats_of(t).ranges, 0);
	wtrack_close(t);
	mem_unmap(&m);
}

static void a_part_watched_again_starts_clean(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(t, &m, 0, 16, 0);
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < 16; i += 3)
			store(&m, i);
		unwatch_pages(t, &m, 4, 8);
		store(&m, 5);
		watch_pages(t, &m, 4, 8, 0);
		if (is_precise(t))
			assert_int_equal(look_at(t, &m, 6), 0);
		store(&m, 7);
		expect_pages(t, &m, BOTH, 0, 3, 7, 12, 15);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* A range loses its head, its tail or its middle while it is initial. */
static void cut_initial(const char *backend, size_t at, size_t n)
{
	struct wtrack *t = open_on(backend);
	struct mem m = mem_map(MEM_ANON, 12, true);
	struct view v;

	watch_pages(t, &m, 0, 12, WTRACK_WATCH_DIRTY);
	unwatch_pages(t, &m, at, n);
	for (int round = 0; round < 2; round++) {
		view_collect(&v, t, &m, 8, round ? BOTH : WTRACK_GET);
		for (size_t i = 0; i < 12; i++)
			assert_int_equal(
				v.flags[i],
				i >= at && i < at + n ? 0 : WTRACK_RUN_INITIAL);
	}
	expect_none(t, &m);
	store(&m, at ? 0 : 11);
	expect_pages(t, &m, BOTH, at ? 0 : 11);
	wtrack_close(t);
	mem_unmap(&m);
}

static void what_is_left_of_an_initial_range_is_cleared_too(void **state)
{
	cut_initial(*state, 8, 4);
	cut_initial(*state, 4, 4);
	cut_initial(*state, 0, 4);
}

/* An unwatch of the first pages after a clearing that stopped in the middle. */
static void a_half_cleared_initial_range_can_be_cut(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 12, true);

	for (size_t cut = 0; cut < 12; cut++) {
		struct wtrack_cursor at = WTRACK_CURSOR_INIT;
		struct view v;

		watch_pages(t, &m, 0, 12, WTRACK_WATCH_DIRTY);
		at.next = (uintptr_t)m.base;
		at.end = (uintptr_t)page_of(&m, 6);
		assert_int_equal(wtrack_collect(t, &at, NULL, 0, WTRACK_CLEAR),
				 0);
		unwatch_pages(t, &m, cut, 1);
		view_collect(&v, t, &m, 8, BOTH);
		for (size_t i = 6; i < 12; i++)
			assert_int_equal(v.flags[i] != 0, i != cut);
		for (size_t i = 0; i < 6 && is_precise(t); i++)
			assert_int_equal(v.flags[i], 0);
		expect_none(t, &m);
		store(&m, cut ? 0 : 1);
		expect_pages(t, &m, BOTH, cut ? 0 : 1);
		if (cut)
			unwatch_pages(t, &m, 0, cut);
		if (cut < 11)
			unwatch_pages(t, &m, cut + 1, 11 - cut);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

static void watched_memory_is_refused_to_all_handles(void **state)
{
	struct wtrack *a = open_on(*state), *b = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	watch_pages(a, &m, 4, 8, 0);
	for (size_t i = 1; i < 12; i++) {
		size_t n = i + 4 > 16 ? 16 - i : 4;

		assert_int_equal(wtrack_watch(a, page_of(&m, i), n * m.page, 0),
				 -EEXIST);
		assert_int_equal(wtrack_watch(b, page_of(&m, i), n * m.page, 0),
				 -EBUSY);
	}
	assert_int_equal(wtrack_unwatch(b, page_of(&m, 4), m.page), -ENOENT);
	store(&m, 5);
	expect_pages(a, &m, WTRACK_GET, 5);
	watch_pages(b, &m, 0, 4, 0);
	watch_pages(b, &m, 12, 4, 0);
	/* What one gives up the other may have. */
	unwatch_pages(a, &m, 8, 4);
	watch_pages(b, &m, 8, 4, 0);
	store(&m, 8);
	expect_pages(b, &m, BOTH, 8);
	expect_pages(a, &m, BOTH, 5);
	wtrack_close(a);
	watch_pages(b, &m, 4, 4, 0);
	store(&m, 4);
	expect_pages(b, &m, BOTH, 4);
	wtrack_close(b);
	mem_unmap(&m);
}

static uint64_t epoch_of(struct wtrack *t)
{
	struct wtrack_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_info(t, &info), 0);
	return info.epoch;
}

static void handles_have_epochs_of_their_own(void **state)
{
	struct wtrack *a = open_on(*state), *b = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);

	/* Pages by turns, so that each clearing lies between the other's. */
	for (size_t i = 0; i < 16; i++)
		watch_pages(i % 2 ? b : a, &m, i, 1, 0);
	for (size_t i = 0; i < 16; i++)
		store(&m, i);
	expect_pages(a, &m, BOTH, 0, 2, 4, 6, 8, 10, 12, 14);
	expect_pages(b, &m, WTRACK_GET, 1, 3, 5, 7, 9, 11, 13, 15);
	clear_all(a);
	clear_all(a);
	expect_pages(b, &m, BOTH, 1, 3, 5, 7, 9, 11, 13, 15);
	assert_int_equal(epoch_of(a), 3);
	assert_int_equal(epoch_of(b), 1);
	store(&m, 3);
	expect_none(a, &m);
	wtrack_close(a);
	expect_pages(b, &m, BOTH, 3);
	wtrack_close(b);
	mem_unmap(&m);
}

/* Handles on different backends side by side. */
static void backends_live_in_one_process(void **state)
{
	struct wtrack *t[N_BACKENDS] = { NULL };
	struct mem m = mem_map(MEM_ANON, N_BACKENDS * 8, true);

	(void)state;
	for (size_t b = 0; b < N_BACKENDS; b++) {
		if (backend_error(backend_names[b]))
			continue;
		t[b] = open_on(backend_names[b]);
		watch_pages(t[b], &m, b * 8, 8, 0);
	}
	for (size_t i = 0; i < N_BACKENDS * 8; i += 2)
		store(&m, i);
	for (size_t b = 0; b < N_BACKENDS; b++) {
		if (!t[b])
			continue;
		expect_pages(t[b], &m, BOTH, b * 8, b * 8 + 2, b * 8 + 4,
			     b * 8 + 6);
		expect_none(t[b], &m);
		wtrack_close(t[b]);
		store(&m, b * 8);
	}
	mem_unmap(&m);
}

/* Every page can be written again; nothing is left of the watching. */
static void closing_unwatches_everything(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 64, true);

	for (size_t i = 0; i < 64; i += 2)
		watch_pages(t, &m, i, 1, i % 4 ? WTRACK_WATCH_DIRTY : 0);
	wtrack_close(t);
	t = open_on(*state);
	for (size_t i = 0; i < 64; i++)
		store(&m, i);
	watch_pages(t, &m, 0, 64, 0);
	store(&m, 33);
	expect_pages(t, &m, BOTH, 33);
	wtrack_close(t);
	wtrack_close(NULL);
	mem_unmap(&m);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(adjacent_ranges_answer_with_one_run),
		CASE_EACH(a_gap_between_ranges_is_never_reported),
		CASE_EACH(unwatching_takes_any_part),
		CASE_EACH(a_part_watched_again_starts_clean),
		CASE_EACH(what_is_left_of_an_initial_range_is_cleared_too),
		CASE_EACH(a_half_cleared_initial_range_can_be_cut),
		CASE_EACH(watched_memory_is_refused_to_all_handles),
		CASE_EACH(handles_have_epochs_of_their_own),
		CASE(backends_live_in_one_process),
		CASE_EACH(closing_unwatches_everything),
	};

	return RUN_CASES("ranges", cases);
}
