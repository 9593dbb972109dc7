/* SPDX-License-Identifier: MIT */
/* unit_errors_collect.c: what collect refuses, with nothing consumed. [G3] */
#include "support.h"

#include <limits.h>
#include <string.h>

/* Eight watched pages, of which 1, 2 and 5 are dirty. */
struct scene {
	struct wtrack *t;
	char *p;
	struct state before;
};

static struct scene scene_on(const char *backend)
{
	struct scene s = { open_on(backend), NULL, { 0 } };

	s.p = map_watched(s.t, 8);
	touch(s.p, 1);
	touch(s.p, 2);
	touch(s.p, 5);
	s.before = state_of(s.t);
	return s;
}

static void scene_end(struct scene *s)
{
	assert_state_is(s->t, &s->before);
	assert_dirty(s->t, s->p, 1, 2, 5);
	wtrack_close(s->t);
	unmap_pages(s->p, 8);
}

static const unsigned asks[] = { WTRACK_GET, WTRACK_CLEAR,
				 WTRACK_GET | WTRACK_CLEAR };

static void refuses_no_handle(void **state)
{
	struct wtrack_run runs[4];

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_returns(-EINVAL,
			       wtrack_collect(NULL, NULL, runs, 4, asks[i]));
}

static void refuses_to_do_nothing(void **state)
{
	struct scene s = scene_on(*state);
	struct wtrack_run runs[4];

	assert_returns(-EINVAL, wtrack_collect(s.t, NULL, runs, 4, 0));
	assert_returns(-EINVAL,
		       wtrack_collect(s.t, NULL, runs, 4, WTRACK_STOPPED));
	scene_end(&s);
}

static void refuses_every_unknown_flag(void **state)
{
	struct scene s = scene_on(*state);
	struct wtrack_run runs[4];

	for (unsigned bit = 3; bit < 32; bit++)
		for (size_t i = 0; i < 3; i++)
			assert_returns(-EINVAL,
				       wtrack_collect(s.t, NULL, runs, 4,
						      asks[i] | 1u << bit));
	scene_end(&s);
}

static void refuses_an_array_that_is_none(void **state)
{
	struct scene s = scene_on(*state);
	struct wtrack_run runs[4];
	const size_t too_many[] = { SIZE_MAX, SSIZE_MAX,
				    SSIZE_MAX / sizeof(runs[0]) + 1 };

	for (size_t i = 0; i < 3; i += 2) {
		unsigned flags = asks[i];

		assert_returns(-EINVAL,
			       wtrack_collect(s.t, NULL, NULL, 4, flags));
		assert_returns(-EINVAL,
			       wtrack_collect(s.t, NULL, runs, 0, flags));
		for (size_t j = 0; j < 3; j++)
			assert_returns(-EINVAL,
				       wtrack_collect(s.t, NULL, runs,
						      too_many[j], flags));
	}
	scene_end(&s);
}

static void refuses_a_bad_cursor_and_leaves_it(void **state)
{
	struct scene s = scene_on(*state);
	const struct wtrack_cursor bad[] = {
		{ (uintptr_t)s.p + 1, 0, 0, 0 },
		{ 0, (uintptr_t)s.p + 1, 0, 0 },
		{ (uintptr_t)s.p, (uintptr_t)s.p + page_size() - 1, 0, 0 },
		{ 0, 0, (UINT64_C(1) << 32) + 1, 0 },
		{ 0, 0, UINT64_MAX, 0 },
		{ (uintptr_t)s.p, 0, UINT64_C(1) << 63, 0 },
		{ 0, 0, 0, 1 },
		{ 0, 0, 1, UINT64_C(1) << 63 },
		{ UINTPTR_MAX, 0, 0, 0 },
	};
	struct wtrack_run runs[4];

	for (size_t i = 0; i < 3 * sizeof(bad) / sizeof(bad[0]); i++) {
		struct wtrack_cursor at = bad[i / 3];

		assert_returns(-EINVAL,
			       wtrack_collect(s.t, &at, runs, 4, asks[i % 3]));
		assert_memory_equal(&at, &bad[i / 3], sizeof(at));
	}
	scene_end(&s);
}

static void an_empty_part_is_the_end_and_no_error(void **state)
{
	struct scene s = scene_on(*state);
	uintptr_t p = (uintptr_t)s.p, page = page_size();
	const struct wtrack_cursor empty[] = {
		{ p, p, 0, 0 },
		{ p + page, p, 0, 0 },
		{ -page, 0, 0, 0 },
	};
	struct wtrack_run runs[4];

	for (size_t i = 0; i < 9; i++) {
		struct wtrack_cursor at = empty[i / 3];

		assert_returns(0,
			       wtrack_collect(s.t, &at, runs, 4, asks[i % 3]));
	}
	scene_end(&s);
}

static void clear_alone_needs_no_array(void **state)
{
	struct scene s = scene_on(*state);

	assert_returns(0, wtrack_collect(s.t, NULL, NULL, 0, WTRACK_CLEAR));
	assert_clean(s.t);
	wtrack_close(s.t);
	unmap_pages(s.p, 8);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(refuses_no_handle),
		CASE_EACH(refuses_to_do_nothing),
		CASE_EACH(refuses_every_unknown_flag),
		CASE_EACH(refuses_an_array_that_is_none),
		CASE_EACH(refuses_a_bad_cursor_and_leaves_it),
		CASE_EACH(an_empty_part_is_the_end_and_no_error),
		CASE_EACH(clear_alone_needs_no_array),
	};

	return RUN_CASES("errors_collect", cases);
}
