/* SPDX-License-Identifier: MIT */
/* unit_sink.c: stretches become runs, merged, cut at the array's end. */
#include "support.h"

#include <string.h>

#include "sink.h"

#define A WTRACK_RUN_WRITTEN
#define B (WTRACK_RUN_WRITTEN | WTRACK_RUN_COARSE)

static void assert_run(const struct wtrack_run *run, uintptr_t start,
		       uintptr_t end, uint64_t flags)
{
	assert_int_equal(run->start, start);
	assert_int_equal(run->end, end);
	assert_int_equal(run->flags, flags);
}

static void touching_stretches_of_equal_flags_are_one_run(void **state)
{
	struct wtrack_run runs[4] = { 0 };
	struct wt_sink sink = { runs, 0, 4 };

	(void)state;
	assert_true(wt_sink_add(&sink, 10, 20, A));
	assert_true(wt_sink_add(&sink, 20, 30, A));
	assert_true(wt_sink_add(&sink, 30, 40, A));
	assert_int_equal(sink.n, 1);
	assert_run(&runs[0], 10, 40, A);
}

static void touching_stretches_of_other_flags_stay_apart(void **state)
{
	struct wtrack_run runs[4] = { 0 };
	struct wt_sink sink = { runs, 0, 4 };

	(void)state;
	assert_true(wt_sink_add(&sink, 10, 20, A));
	assert_true(wt_sink_add(&sink, 20, 30, B));
	assert_true(wt_sink_add(&sink, 30, 40, A));
	assert_int_equal(sink.n, 3);
	assert_run(&runs[0], 10, 20, A);
	assert_run(&runs[1], 20, 30, B);
	assert_run(&runs[2], 30, 40, A);
}

static void stretches_with_a_gap_stay_apart(void **state)
{
	struct wtrack_run runs[4] = { 0 };
	struct wt_sink sink = { runs, 0, 4 };

	(void)state;
	assert_true(wt_sink_add(&sink, 10, 20, A));
	assert_true(wt_sink_add(&sink, 21, 30, A));
	assert_int_equal(sink.n, 2);
	assert_run(&runs[0], 10, 20, A);
	assert_run(&runs[1], 21, 30, A);
}

static void an_empty_stretch_adds_nothing_even_to_a_full_sink(void **state)
{
	struct wtrack_run runs[1] = { 0 };
	struct wt_sink sink = { runs, 0, 1 };

	(void)state;
	assert_true(wt_sink_add(&sink, 10, 10, A));
	assert_int_equal(sink.n, 0);
	assert_true(wt_sink_add(&sink, 10, 20, A));
	assert_true(wt_sink_add(&sink, 30, 30, B));
	assert_int_equal(sink.n, 1);
	assert_run(&runs[0], 10, 20, A);
}

/* [G6] */
static void a_full_sink_refuses_a_new_run_and_changes_nothing(void **state)
{
	struct wtrack_run runs[3] = { 0 };
	struct wt_sink sink = { runs, 0, 2 };

	(void)state;
	assert_true(wt_sink_add(&sink, 10, 20, A));
	assert_true(wt_sink_add(&sink, 30, 40, A));
	assert_false(wt_sink_add(&sink, 50, 60, A));
	assert_false(wt_sink_add(&sink, 40, 60, B));
	assert_int_equal(sink.n, 2);
	assert_run(&runs[0], 10, 20, A);
	assert_run(&runs[1], 30, 40, A);
	assert_run(&runs[2], 0, 0, 0);
}

static void a_full_sink_still_takes_what_extends_its_last_run(void **state)
{
	struct wtrack_run runs[1] = { 0 };
	struct wt_sink sink = { runs, 0, 1 };

	(void)state;
	assert_true(wt_sink_add(&sink, 10, 20, A));
	assert_true(wt_sink_add(&sink, 20, 25, A));
	assert_run(&runs[0], 10, 25, A);
}

static void the_tail_is_the_free_part_of_the_array(void **state)
{
	struct wtrack_run runs[5] = { 0 };
	struct wt_sink sink = { runs, 0, 5 };
	size_t room = 0;

	(void)state;
	assert_ptr_equal(wt_sink_tail(&sink, &room), runs);
	assert_int_equal(room, 5);
	assert_true(wt_sink_add(&sink, 10, 20, A));
	assert_ptr_equal(wt_sink_tail(&sink, &room), runs + 1);
	assert_int_equal(room, 4);
}

static void commit_joins_the_first_new_run_to_the_last_old_one(void **state)
{
	struct wtrack_run runs[4] = {
		{ 10, 20, A }, { 20, 30, A }, { 40, 50, A }, { 60, 70, A }
	};
	struct wt_sink sink = { runs, 1, 4 };

	(void)state;
	wt_sink_commit(&sink, 3, 1);
	assert_int_equal(sink.n, 3);
	assert_run(&runs[0], 10, 30, A);
	assert_run(&runs[1], 40, 50, A);
	assert_run(&runs[2], 60, 70, A);
}

static void commit_of_nothing_changes_nothing(void **state)
{
	struct wtrack_run runs[2] = { { 10, 20, A }, { 20, 30, A } };
	struct wt_sink sink = { runs, 1, 2 };

	(void)state;
	wt_sink_commit(&sink, 0, 1);
	assert_int_equal(sink.n, 1);
	assert_run(&runs[0], 10, 20, A);
	sink.n = 0;
	wt_sink_commit(&sink, 0, 1);
	assert_int_equal(sink.n, 0);
}

/* What commit must come to: each run added by itself. */
static void one_by_one(struct wt_sink *sink, const struct wtrack_run *from,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_true(wt_sink_add(sink, from[i].start, from[i].end,
					from[i].flags));
}

static void commit_is_the_same_as_adding_one_by_one(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct wtrack_run in[12], added[12], committed[12];
		struct wt_sink a = { added, 0, 12 }, c = { committed, 0, 12 };
		uintptr_t at = 0;
		size_t n, old;

		for (n = 0; n < 12; n++) {
			random = random * 1664525u + 1013904223u;
			at += (random >> 28) % 3 ? 0 : 5;
			in[n].start = at;
			in[n].end = at += 1 + (random >> 16) % 9;
			in[n].flags = (random >> 10) % 3 ? A : B;
		}
		old = (random >> 5) % 13;
		one_by_one(&a, in, 12);
		one_by_one(&c, in, old);
		memcpy(committed + c.n, in + old, (12 - old) * sizeof(in[0]));
		wt_sink_commit(&c, 12 - old, 1);
		assert_int_equal(c.n, a.n);
		assert_memory_equal(added, committed, a.n * sizeof(added[0]));
	}
}

static void only_runs_that_hold_a_whole_block_become_coarse(void **state)
{
	struct wtrack_run runs[6] = {
		{ 0, 64, A },    /* before `from` */
		{ 64, 128, A },  /* a block, aligned */
		{ 130, 250, A }, /* no aligned block in it, though longer */
		{ 250, 384, A }, /* one in the middle */
		{ 390, 400, A }, /* shorter */
		{ 448, 640, A }, /* three */
	};
	const uint64_t flags[6] = { A, B, A, B, A, B };
	struct wt_sink sink = { runs, 6, 6 };

	(void)state;
	wt_sink_flag_blocks(&sink, 1, 64);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(runs[i].flags, flags[i]);
}

static void equal_runs_that_touch_are_joined(void **state)
{
	struct wtrack_run runs[6] = { { 0, 10, B },  { 10, 20, B },
				      { 20, 30, B }, { 30, 40, A },
				      { 50, 60, A }, { 60, 70, A } };
	struct wt_sink sink = { runs, 6, 6 };

	(void)state;
	wt_sink_join(&sink, 2);
	assert_int_equal(sink.n, 4);
	assert_run(&runs[0], 0, 10, B);
	assert_run(&runs[1], 10, 30, B);
	assert_run(&runs[2], 30, 40, A);
	assert_run(&runs[3], 50, 70, A);
	wt_sink_join(&sink, 0);
	assert_int_equal(sink.n, 3);
	assert_run(&runs[0], 0, 30, B);
	sink.n = 0;
	wt_sink_join(&sink, 0);
	assert_int_equal(sink.n, 0);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(touching_stretches_of_equal_flags_are_one_run),
		CASE(touching_stretches_of_other_flags_stay_apart),
		CASE(stretches_with_a_gap_stay_apart),
		CASE(an_empty_stretch_adds_nothing_even_to_a_full_sink),
		CASE(a_full_sink_refuses_a_new_run_and_changes_nothing),
		CASE(a_full_sink_still_takes_what_extends_its_last_run),
		CASE(the_tail_is_the_free_part_of_the_array),
		CASE(commit_joins_the_first_new_run_to_the_last_old_one),
		CASE(commit_of_nothing_changes_nothing),
		CASE(commit_is_the_same_as_adding_one_by_one),
		CASE(only_runs_that_hold_a_whole_block_become_coarse),
		CASE(equal_runs_that_touch_are_joined),
	};

	return RUN_CASES("sink", cases);
}
