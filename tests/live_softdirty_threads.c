/* SPDX-License-Identifier: MIT */
/*
 * live_softdirty_threads.c: soft-dirty bits are read and cleared in two steps.
 *
 * Where a store in between could be lost nothing is cleared, and that is said.
 * [G1] [G2]
 */
#include "support_live.h"

#include <string.h>
#include <unistd.h>

#define BOTH   (WTRACK_GET | WTRACK_CLEAR)
#define DOUBT  (WTRACK_RUN_WRITTEN | WTRACK_RUN_DEGRADED)
#define NAMED  "softdirty"
#define ROUNDS 200

static const char *lacks_softdirty(void)
{
	return backend_error(NAMED)
		       ? "the kernel has no soft-dirty bits to clear"
		       : NULL;
}

/* ---- a thread that does nothing ---- */

struct idler {
	pthread_t thread;
	int pipe[2];
};

static void *idle(void *arg)
{
	struct idler *i = arg;
	char c;

	return read(i->pipe[0], &c, 1) == 0 ? NULL : arg;
}

static void idler_start(struct idler *i)
{
	assert_int_equal(pipe(i->pipe), 0);
	assert_int_equal(pthread_create(&i->thread, NULL, idle, i), 0);
}

static void idler_end(struct idler *i)
{
	close(i->pipe[1]);
	pthread_join(i->thread, NULL);
	await_end_of_threads();
	close(i->pipe[0]);
}

static void with_threads_nothing_is_cleared_and_it_says_so(void **state)
{
	struct wtrack *t = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 8, true);
	struct idler other;

	(void)state;
	watch_pages(t, &m, 0, 8, 0);
	idler_start(&other);
	store(&m, 2);
	assert_int_equal(look_at(t, &m, 2), WTRACK_RUN_WRITTEN);
	for (int i = 0; i < 2; i++) {
		struct view v;

		view_collect(&v, t, &m, 64, BOTH);
		assert_int_equal(v.flags[2], DOUBT);
		assert_int_equal(v.flags[3], 0);
		assert_int_equal(look_at(t, &m, 2), DOUBT);
	}
	clear_all(t);
	assert_int_equal(look_at(t, &m, 2), DOUBT);
	assert_true(stats_of(t).degraded > 0);
	/* With the promise it is cleared, once and for all. */
	assert_int_equal(
		wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR | WTRACK_STOPPED),
		0);
	expect_none(t, &m);
	store(&m, 2);
	assert_int_equal(look_at(t, &m, 2), WTRACK_RUN_WRITTEN);
	/* And without, as soon as there is nobody else. */
	idler_end(&other);
	expect_pages(t, &m, BOTH, 2);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

static void an_initial_range_stays_so_with_threads(void **state)
{
	struct wtrack *t = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 4, true);
	struct idler other;
	struct view v;

	(void)state;
	watch_pages(t, &m, 0, 4, WTRACK_WATCH_DIRTY);
	idler_start(&other);
	view_collect(&v, t, &m, 64, BOTH);
	assert_int_equal(v.flags[1], WTRACK_RUN_INITIAL | WTRACK_RUN_DEGRADED);
	assert_int_equal(look_at(t, &m, 1), WTRACK_RUN_INITIAL);
	view_collect(&v, t, &m, 64, BOTH | WTRACK_STOPPED);
	assert_int_equal(v.flags[1], WTRACK_RUN_INITIAL);
	expect_none(t, &m);
	idler_end(&other);
	wtrack_close(t);
	mem_unmap(&m);
}

/* The first range of all may be cleared for; others would lose by it. */
static void with_threads_a_second_watch_starts_in_doubt(void **state)
{
	struct wtrack *t = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 8, true);
	struct idler other;

	(void)state;
	idler_start(&other);
	watch_pages(t, &m, 0, 4, 0);
	expect_none(t, &m);
	store(&m, 1);
	store(&m, 6);
	watch_pages(t, &m, 4, 4, 0);
	assert_int_equal(look_at(t, &m, 1), WTRACK_RUN_WRITTEN);
	assert_int_equal(look_at(t, &m, 6), DOUBT);
	assert_int_equal(look_at(t, &m, 7), 0);
	clear_all(t);
	assert_int_equal(look_at(t, &m, 6), DOUBT);
	idler_end(&other);
	clear_all(t);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

static void look(struct teammate *self)
{
	struct wtrack *t = self->team->context;
	struct wtrack_run runs[64];

	if (wtrack_collect(t, NULL, runs, 64, WTRACK_GET) < 0)
		team_wrong(self->team, "a look fails");
}

static void clear_stopped(struct teammate *self)
{
	struct wtrack *t = self->team->context;

	if (wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR | WTRACK_STOPPED))
		team_wrong(self->team, "a clearing fails");
}

/* Others clear and look all the time, elsewhere: this handle loses nothing. */
static void clearings_at_once_lose_nothing(void **state)
{
	struct wtrack *t = open_on(NAMED), *other = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct team team;

	(void)state;
	watch_pages(t, &m, 0, 8, 0);
	watch_pages(other, &m, 8, 8, 0);
	for (size_t i = 0; i < 8; i += 2)
		store(&m, i);
	team_init(&team, other);
	team_add(&team, clear_stopped);
	team_add(&team, clear_stopped);
	team_add(&team, look);
	for (int i = 0; i < rounds(ROUNDS); i++) {
		struct view v;

		view_collect(&v, t, &m, 64, WTRACK_GET);
		for (size_t p = 0; p < 8; p += 2)
			assert_int_not_equal(v.flags[p], 0);
	}
	team_end(&team);
	await_end_of_threads();
	expect_pages(t, &m, BOTH, 0, 2, 4, 6);
	expect_none(t, &m);
	wtrack_close(t);
	wtrack_close(other);
	mem_unmap(&m);
}

/* ---- kernel entries that fail ---- */

static void what_cannot_be_cleared_or_read_is_marked(void **state)
{
	struct wtrack *t = open_on(NAMED);
	struct mem m = mem_map(MEM_ANON, 8, true);
	struct view v;

	(void)state;
	watch_pages(t, &m, 0, 8, 0);
	store(&m, 2);
	fail_entry(WT_SYS_WRITE, 1, 1, -EINTR);
	view_collect(&v, t, &m, 64, BOTH);
	fail_no_more();
	assert_int_equal(v.flags[2], DOUBT);
	assert_int_equal(v.flags[3], 0);
	assert_int_equal(look_at(t, &m, 2), DOUBT);
	fail_entry(WT_SYS_PREAD, 1, 1000, -EIO);
	view_collect(&v, t, &m, 64, BOTH);
	fail_no_more();
	assert_int_equal(v.flags[2], WTRACK_RUN_DEGRADED);
	assert_int_equal(v.flags[3], WTRACK_RUN_DEGRADED);
	expect_pages(t, &m, BOTH, 2);
	expect_none(t, &m);
	store(&m, 5);
	expect_pages(t, &m, BOTH, 5);
	wtrack_close(t);
	mem_unmap(&m);
}

static bool refuse_clear_refs(enum wt_sys id, const long args[6], long *result)
{
	if (id != WT_SYS_OPEN ||
	    strcmp((const char *)args[1], "/proc/self/clear_refs") != 0)
		return false;
	*result = -EACCES;
	return true;
}

static void without_clear_refs_it_does_not_open(void **state)
{
	(void)state;
	at_the_door(refuse_clear_refs);
	assert_int_equal(backend_error(NAMED), -EOPNOTSUPP);
	at_the_door(NULL);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_IF(with_threads_nothing_is_cleared_and_it_says_so,
			lacks_softdirty),
		CASE_IF(an_initial_range_stays_so_with_threads,
			lacks_softdirty),
		CASE_IF(with_threads_a_second_watch_starts_in_doubt,
			lacks_softdirty),
		CASE_IF(clearings_at_once_lose_nothing, lacks_softdirty),
		CASE_IF(what_cannot_be_cleared_or_read_is_marked,
			lacks_softdirty),
		CASE_FRESH(without_clear_refs_it_does_not_open,
			   lacks_softdirty),
	};

	return RUN_FRESH_OR_ALL("softdirty_threads", cases, argc, argv);
}
