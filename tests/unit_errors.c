/* SPDX-License-Identifier: MIT */
/*
 * unit_errors.c: what open, query, info, stats and snapshot refuse.
 *
 * Every refusal is the documented errno, leaves errno alone and changes
 * nothing.  [G3]
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

static struct wtrack *const untouched = (struct wtrack *)64;

static void assert_open_fails(int expected, const struct wtrack_options *opts)
{
	struct wtrack *t = untouched;

	assert_returns(expected, wtrack_open(opts, &t));
	assert_ptr_equal(t, untouched);
}

static void open_refuses_null_and_unknown_bits(void **state)
{
	struct wtrack_options o = WTRACK_OPTIONS_INIT;

	(void)state;
	assert_returns(-EINVAL, wtrack_open(NULL, NULL));
	assert_returns(-EINVAL, wtrack_open(&o, NULL));
	o.flags = (uint64_t)1 << 40;
	assert_open_fails(-EINVAL, &o);
	o.flags = 0;
	o.require = 0x100;
	assert_open_fails(-EINVAL, &o);
	o.require = (uint64_t)1 << 63;
	assert_open_fails(-EINVAL, &o);
}

static void open_refuses_backends_that_do_not_exist(void **state)
{
	const char *const names[] = { "", "SCAN", "scan ", "wp2", "mprotectx" };
	struct wtrack_options o = WTRACK_OPTIONS_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		o.backend = names[i];
		assert_open_fails(-EINVAL, &o);
	}
	o.backend = NULL;
	setenv("WTRACK_BACKEND", "none", 1);
	assert_open_fails(-EINVAL, &o);
	assert_open_fails(-EINVAL, NULL);
	unsetenv("WTRACK_BACKEND");
}

static void open_refuses_what_no_backend_can_do(void **state)
{
	struct wtrack_options o = WTRACK_OPTIONS_INIT;

	(void)state;
	o.backend = "all";
	o.require = WTRACK_CAP_PRECISE;
	assert_open_fails(-EOPNOTSUPP, &o);
	o.require = WTRACK_CAP_LOSS;
	assert_open_fails(-EOPNOTSUPP, &o);
	o.backend = "mprotect";
	o.require = WTRACK_CAP_NO_SIGNAL;
	assert_open_fails(-EOPNOTSUPP, &o);
	o.require = WTRACK_CAP_PRECISE | WTRACK_CAP_KERNEL_WRITES;
	assert_open_fails(-EOPNOTSUPP, &o);
}

static void open_checks_the_size_of_its_options(void **state)
{
	struct {
		struct wtrack_options now;
		uint64_t tail;
	} o = { WTRACK_OPTIONS_INIT, 0 };
	struct wtrack *t = NULL;

	(void)state;
	o.now.size = 0;
	assert_open_fails(-EINVAL, &o.now);
	o.now.size = sizeof(size_t) - 1;
	assert_open_fails(-EINVAL, &o.now);
	o.now.size = sizeof(o);
	o.tail = 1;
	assert_open_fails(-E2BIG, &o.now);
	o.tail = 0;
	assert_returns(0, wtrack_open(&o.now, &t));
	wtrack_close(t);
	o.now.size = sizeof(size_t);
	assert_returns(0, wtrack_open(&o.now, &t));
	wtrack_close(t);
}

static void a_failed_open_leaves_nothing_behind(void **state)
{
	struct wtrack_options o = WTRACK_OPTIONS_INIT;
	struct usage before, after;

	(void)state;
	o.backend = "all";
	o.require = WTRACK_CAP_PRECISE;
	before = usage_now();
	for (int i = 0; i < 100; i++)
		assert_open_fails(-EOPNOTSUPP, &o);
	after = usage_now();
	assert_memory_equal(&before, &after, sizeof(before));
}

static void null_to_close_and_free_is_nothing(void **state)
{
	(void)state;
	errno = 1234;
	wtrack_close(NULL);
	wtrack_snapshot_free(NULL);
	wtrack_snapshot_rewind(NULL);
	assert_int_equal(errno, 1234);
}

/* ---- structs that are given ---- */

static void info_checks_its_arguments(void **state)
{
	struct wtrack *t = open_on(*state);
	struct wtrack_info info = { .size = sizeof(info) };

	assert_returns(-EINVAL, wtrack_info(NULL, &info));
	assert_returns(-EINVAL, wtrack_info(t, NULL));
	assert_null(info.backend);
	for (info.size = 0; info.size <= sizeof(size_t); info.size++)
		assert_returns(-EINVAL, wtrack_info(t, &info));
	assert_null(info.backend);
	info.size = offsetof(struct wtrack_info, caps);
	assert_returns(0, wtrack_info(t, &info));
	assert_string_equal(info.backend, *state);
	assert_int_equal(info.page_size, 0);
	info.size = sizeof(info);
	assert_returns(0, wtrack_info(t, &info));
	assert_int_equal(info.page_size, page_size());
	wtrack_close(t);
}

static void stats_checks_its_arguments(void **state)
{
	struct wtrack *t = open_on(*state);
	struct {
		struct wtrack_stats now;
		uint64_t tail;
	} s = { { .size = sizeof(s) }, 7 };

	assert_returns(-EINVAL, wtrack_stats(NULL, &s.now));
	assert_returns(-EINVAL, wtrack_stats(t, NULL));
	assert_int_equal(s.tail, 7);
	assert_returns(0, wtrack_stats(t, &s.now));
	assert_int_equal(s.tail, 0);
	assert_int_not_equal(s.now.memory_bytes, 0);
	for (s.now.size = 0; s.now.size <= sizeof(size_t); s.now.size++)
		assert_returns(-EINVAL, wtrack_stats(t, &s.now));
	wtrack_close(t);
}

static void query_checks_its_arguments(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 4);
	size_t page = page_size();
	struct wtrack_range_info info = { .size = sizeof(info) };
	struct state before = state_of(t);

	assert_returns(-EINVAL, wtrack_query(NULL, p, &info));
	assert_returns(-EINVAL, wtrack_query(NULL, p, NULL));
	assert_returns(-ENOENT, wtrack_query(t, p - 1, &info));
	assert_returns(-ENOENT, wtrack_query(t, p + 4 * page, NULL));
	assert_returns(-ENOENT, wtrack_query(t, NULL, NULL));
	assert_returns(-ENOENT, wtrack_query(t, (void *)UINTPTR_MAX, &info));
	assert_int_equal(info.start, 0);
	for (info.size = 0; info.size <= sizeof(size_t); info.size++)
		assert_returns(-EINVAL, wtrack_query(t, p, &info));
	assert_int_equal(info.start, 0);
	info.size = sizeof(info);
	assert_returns(0, wtrack_query(t, p + 4 * page - 1, &info));
	assert_int_equal(info.start, (uintptr_t)p);
	assert_int_equal(info.end, (uintptr_t)p + 4 * page);
	assert_int_equal(info.grain, page);
	assert_int_equal(info.flags, 0);
	assert_returns(0, wtrack_query(t, p, NULL));
	assert_state_is(t, &before);
	wtrack_close(t);
	unmap_pages(p, 4);
}

/* ---- snapshots ---- */

static void snapshot_checks_its_arguments(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 4);
	struct wtrack_snapshot *s = NULL;
	struct wtrack_run run = { 1, 2, 3 };
	struct state before;

	touch(p, 1);
	before = state_of(t);
	assert_returns(-EINVAL, wtrack_snapshot(NULL, &s));
	assert_null(s);
	assert_returns(-EINVAL, wtrack_snapshot(t, NULL));
	assert_state_is(t, &before);
	assert_returns(0, wtrack_snapshot(t, &s));
	assert_returns(-EINVAL, wtrack_snapshot_next(NULL, &run));
	assert_returns(-EINVAL, wtrack_snapshot_next(s, NULL));
	assert_int_equal(run.flags, 3);
	assert_returns(1, wtrack_snapshot_next(s, &run));
	assert_returns(0, wtrack_snapshot_next(s, &run));
	assert_returns(0, wtrack_snapshot_contains(NULL, p));
	assert_returns(0, wtrack_snapshot_pages(NULL));
	assert_returns(0, wtrack_snapshot_epoch(NULL));
	wtrack_snapshot_free(s);
	wtrack_close(t);
	unmap_pages(p, 4);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(open_refuses_null_and_unknown_bits),
		CASE(open_refuses_backends_that_do_not_exist),
		CASE(open_refuses_what_no_backend_can_do),
		CASE(open_checks_the_size_of_its_options),
		CASE(a_failed_open_leaves_nothing_behind),
		CASE(null_to_close_and_free_is_nothing),
		CASE_EACH(info_checks_its_arguments),
		CASE_EACH(stats_checks_its_arguments),
		CASE_EACH(query_checks_its_arguments),
		CASE_EACH(snapshot_checks_its_arguments),
	};

	return RUN_CASES("errors", cases);
}
