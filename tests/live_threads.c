/* SPDX-License-Identifier: MIT */
/*
 * live_threads.c: ranges and handles come and go under threads that write,
 * and several threads collect from one handle.
 */
#include "support_live.h"
#include "sys.h"

#include <string.h>
#include <time.h>

#define BOTH    (WTRACK_GET | WTRACK_CLEAR)
#define PAGES_N 64

/* Cases, times the backends: the share of the time that each gets. */
#define SHARES (7 * 3)

struct scene {
	const char *backend;
	struct wtrack *t;
	struct mem m;
	uint64_t done[TEAM_MOST][PAGES_N]; /* stores of each thread */
	uint64_t seen[PAGES_N];            /* atomic: latest that was copied */
	uint64_t marked[PAGES_N];          /* atomic */
};

static double share(void)
{
	double seconds = (double)env_number("WTRACK_STRESS_SECONDS", 10);

	allow_more_seconds((unsigned)seconds);
	return seconds / SHARES;
}

static struct scene *scene_of(struct teammate *self)
{
	return self->team->context;
}

/* Each thread counts in words of its own. */
static uint64_t *word(struct scene *s, size_t page, size_t number)
{
	return (uint64_t *)(void *)page_of(&s->m, page) + number;
}

static void count_up(struct teammate *self)
{
	struct scene *s = scene_of(self);
	size_t page = roll(&self->dice, PAGES_N);

	__atomic_fetch_add(word(s, page, self->number), 1, __ATOMIC_RELAXED);
	s->done[self->number][page]++;
}

/* Others run between what the library does: some entries take their time. */
static bool dawdle(enum wt_sys id, const long args[6], long *result)
{
	static unsigned entries;
	const struct timespec moment = { 0, 1000 };

	(void)id;
	(void)args;
	(void)result;
	if (!(__atomic_add_fetch(&entries, 1, __ATOMIC_RELAXED) % 5))
		nanosleep(&moment, NULL);
	return false;
}

static void init(struct scene *s, const char *backend)
{
	at_the_door(dawdle);
	memset(s, 0, sizeof(*s));
	s->backend = backend;
	s->t = open_on(backend);
	s->m = mem_map(MEM_ANON, PAGES_N, false);
}

/* No store was swallowed, and all can be written still. */
static void end(struct scene *s)
{
	for (size_t n = 0; n < TEAM_MOST; n++)
		for (size_t i = 0; i < PAGES_N; i++)
			assert_int_equal(*word(s, i, n), s->done[n][i]);
	wtrack_close(s->t);
	for (size_t i = 0; i < PAGES_N; i++)
		store(&s->m, i);
	mem_unmap(&s->m);
	at_the_door(NULL);
}

/* ---- ranges and handles that come and go ---- */

static void unwatch_under_writers(void **state)
{
	struct dice dice = { 1 };
	struct scene s;
	struct team team;
	double since = 0, seconds = share();

	init(&s, *state);
	team_init(&team, &s);
	for (int i = 0; i < 3; i++)
		team_add(&team, count_up);
	while (time_left(&since, seconds)) {
		size_t first = roll(&dice, PAGES_N);
		size_t n = 1 + roll(&dice, PAGES_N - first);
		size_t half = first + n / 2;

		watch_pages(s.t, &s.m, first, n,
			    (roll(&dice, 2) ? WTRACK_WATCH_DIRTY : 0) |
				    (roll(&dice, 2) ? WTRACK_WATCH_STABLE : 0));
		if (roll(&dice, 2))
			clear_all(s.t);
		/* Whole, or in two parts, the second first. */
		if (half > first && roll(&dice, 2))
			unwatch_pages(s.t, &s.m, half, first + n - half);
		else
			half = first + n;
		unwatch_pages(s.t, &s.m, first, half - first);
	}
	team_end(&team);
	end(&s);
}

static void close_under_writers(void **state)
{
	struct scene s;
	struct team team;
	double since = 0, seconds = share();

	init(&s, *state);
	team_init(&team, &s);
	for (int i = 0; i < 3; i++)
		team_add(&team, count_up);
	while (time_left(&since, seconds)) {
		struct wtrack *t = open_on(*state);

		watch_pages(t, &s.m, 0, PAGES_N / 2, 0);
		watch_pages(t, &s.m, PAGES_N / 2 + 1, PAGES_N / 4, 0);
		clear_all(t);
		wtrack_close(t);
	}
	team_end(&team);
	end(&s);
}

static void own_handle(struct teammate *self)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct scene *s = scene_of(self);
	struct mem own = mem_map(MEM_ANON, 4, true);
	struct wtrack_run runs[4];
	struct wtrack *t = NULL;

	options.backend = s->backend;
	if (wtrack_open(&options, &t)) {
		team_wrong(self->team, "open");
	} else {
		if (wtrack_watch(t, own.base, 4 * own.page, 0))
			team_wrong(self->team, "watch");
		store(&own, 2);
		if (wtrack_collect(t, NULL, runs, 4, BOTH) != 1)
			team_wrong(self->team, "its own store, and no other");
		wtrack_close(t);
	}
	mem_unmap(&own);
}

/* The list of handles changes while others' faults look it through. */
static void handles_come_and_go_under_writers(void **state)
{
	struct scene s;
	struct team team;
	double since = 0, seconds = share();

	init(&s, *state);
	watch_pages(s.t, &s.m, 0, PAGES_N, 0);
	team_init(&team, &s);
	team_add(&team, count_up);
	team_add(&team, count_up);
	team_add(&team, own_handle);
	team_add(&team, own_handle);
	while (time_left(&since, seconds))
		clear_all(s.t);
	team_end(&team);
	end(&s);
}

/* ---- several collectors of one handle ---- */

static void raise_to(uint64_t *seen, uint64_t value)
{
	uint64_t old = __atomic_load_n(seen, __ATOMIC_SEQ_CST);

	while (old < value &&
	       !__atomic_compare_exchange_n(seen, &old, value, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

/* All that was counted in a page up to now. */
static uint64_t value_of(struct scene *s, size_t page)
{
	uint64_t sum = __atomic_load_n(&s->marked[page], __ATOMIC_SEQ_CST);

	for (size_t n = 0; n < TEAM_MOST; n++)
		sum += __atomic_load_n(word(s, page, n), __ATOMIC_SEQ_CST);
	return sum;
}

static void copy_runs(struct team *team, const struct wtrack_run *runs,
		      ssize_t n)
{
	struct scene *s = team->context;

	for (ssize_t i = 0; i < n; i++) {
		uintptr_t at = runs[i].start;

		if (runs[i].flags & WTRACK_RUN_LOST)
			team_wrong(team, "a page was called lost");
		for (; at < runs[i].end; at += s->m.page) {
			size_t page = (at - (uintptr_t)s->m.base) / s->m.page;

			if (page < PAGES_N)
				raise_to(&s->seen[page], value_of(s, page));
		}
	}
}

static void collect(struct teammate *self, size_t nruns)
{
	struct scene *s = scene_of(self);
	struct wtrack_run runs[32];
	ssize_t n = wtrack_collect(s->t, NULL, runs, nruns, BOTH);

	if (n < 0)
		team_wrong(self->team, "collect");
	copy_runs(self->team, runs, n);
}

static void collect_many(struct teammate *self)
{
	collect(self, 32);
}

static void collect_few(struct teammate *self)
{
	collect(self, 3);
}

static void only_look(struct teammate *self)
{
	struct scene *s = scene_of(self);
	struct wtrack_run runs[32];
	ssize_t n = wtrack_collect(s->t, NULL, runs, 32, WTRACK_GET);

	for (ssize_t i = 0; i < n; i++)
		if (runs[i].flags & WTRACK_RUN_LOST)
			team_wrong(self->team, "a look called a page lost");
}

static void mark(struct teammate *self)
{
	struct scene *s = scene_of(self);
	size_t page = roll(&self->dice, PAGES_N);

	/* Not seen by any backend: in other memory. */
	__atomic_fetch_add(&s->marked[page], 1, __ATOMIC_SEQ_CST);
	if (wtrack_mark(s->t, page_of(&s->m, page), 1))
		team_wrong(self->team, "mark");
}

/* What the last collection leaves is nothing: all was seen. [G1] */
static void end_seen(struct scene *s, struct team *team)
{
	struct wtrack_run runs[PAGES_N];
	double since = 0, seconds = share();

	while (time_left(&since, seconds)) {
		ssize_t n = wtrack_collect(s->t, NULL, runs, PAGES_N, BOTH);

		assert_true(n >= 0);
		copy_runs(team, runs, n);
	}
	team_end(team);
	copy_runs(team, runs, wtrack_collect(s->t, NULL, runs, PAGES_N, BOTH));
	for (size_t i = 0; i < PAGES_N; i++)
		assert_int_equal(s->seen[i], value_of(s, i));
	assert_null(team->wrong);
	assert_int_equal(stats_of(s->t).lost, 0);
	end(s);
}

static void collectors_share_a_handle(void **state)
{
	struct scene s;
	struct team team;

	init(&s, *state);
	watch_pages(s.t, &s.m, 0, PAGES_N / 2, 0);
	watch_pages(s.t, &s.m, PAGES_N / 2, PAGES_N / 2, WTRACK_WATCH_STABLE);
	team_init(&team, &s);
	team_add(&team, count_up);
	team_add(&team, count_up);
	team_add(&team, collect_many);
	team_add(&team, collect_few);
	team_add(&team, only_look);
	end_seen(&s, &team);
}

static void marks_are_stores(void **state)
{
	struct scene s;
	struct team team;

	init(&s, *state);
	watch_pages(s.t, &s.m, 0, PAGES_N, 0);
	team_init(&team, &s);
	team_add(&team, mark);
	team_add(&team, mark);
	team_add(&team, count_up);
	team_add(&team, only_look);
	end_seen(&s, &team);
}

/* Initial ranges of a page each, watched again and again. */
static void initial_pages_have_several_collectors(void **state)
{
	struct scene s;
	struct team team;
	double since = 0, seconds = share();

	init(&s, *state);
	team_init(&team, &s);
	team_add(&team, count_up);
	team_add(&team, collect_many);
	team_add(&team, collect_few);
	team_add(&team, only_look);
	while (time_left(&since, seconds)) {
		watch_pages(s.t, &s.m, 0, PAGES_N, WTRACK_WATCH_DIRTY);
		for (size_t i = 0; i < PAGES_N; i += 4)
			unwatch_pages(s.t, &s.m, i, 4);
	}
	team_end(&team);
	assert_int_equal(stats_of(s.t).lost, 0);
	end(&s);
}

/* The same pages, clean: a look that races with it finds nothing lost. */
static void what_comes_and_goes_is_never_lost(void **state)
{
	struct scene s;
	struct team team;
	double since = 0, seconds = share();

	init(&s, *state);
	team_init(&team, &s);
	team_add(&team, count_up);
	team_add(&team, only_look);
	team_add(&team, only_look);
	team_add(&team, collect_few);
	while (time_left(&since, seconds)) {
		watch_pages(s.t, &s.m, 0, PAGES_N, 0);
		unwatch_pages(s.t, &s.m, 1, 7);
		watch_pages(s.t, &s.m, 2, 4, 0);
		unwatch_pages(s.t, &s.m, 2, 4);
		unwatch_pages(s.t, &s.m, 0, 1);
		unwatch_pages(s.t, &s.m, 8, PAGES_N - 8);
	}
	team_end(&team);
	assert_int_equal(stats_of(s.t).lost, 0);
	end(&s);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(unwatch_under_writers),
		CASE_EACH(close_under_writers),
		CASE_EACH(handles_come_and_go_under_writers),
		CASE_EACH(collectors_share_a_handle),
		CASE_EACH(marks_are_stores),
		CASE_EACH(initial_pages_have_several_collectors),
		CASE_EACH(what_comes_and_goes_is_never_lost),
	};

	return RUN_CASES("live_threads", cases);
}
