/* SPDX-License-Identifier: MIT */
/*
 * model_handles.c: random operations on a handle of each backend at once.
 *
 * The handles share one stretch of memory, page by page.  Each must report what
 * was written to its own pages and nothing of the others', whatever the others
 * do; handles are closed and opened again, and children made by fork and by
 * bare clone go on with all of them.  WTRACK_MODEL_SEED and WTRACK_MODEL_STEPS
 * set the seed, which is printed, and the length.
 */
#include "support_live.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOTH    (WTRACK_GET | WTRACK_CLEAR)
#define PAGES_N 128
#define NOBODY  (-1)

struct shadow {
	int owner;    /* handle, or NOBODY */
	bool written; /* must be reported */
	bool maybe;   /* may be reported as written */
	bool initial; /* must be reported as such */
	bool unsure;  /* may be reported as such */
};

struct model {
	struct wtrack *t[3];
	const char *backend[3];
	uint64_t caps[3];
	size_t handles;
	struct mem m;
	struct dice dice;
	struct shadow page[PAGES_N];
	unsigned long step;
	const char *last;
};

static void fail_model(const struct model *s, size_t i, const char *what,
		       uint64_t flags)
{
	const struct shadow *p = &s->page[i];

	fail_msg("step %lu, %s: page %zu of %s (written %d maybe %d initial "
		 "%d unsure %d) %s, flags %#llx",
		 s->step, s->last, i,
		 p->owner < 0 ? "nobody" : s->backend[p->owner], p->written,
		 p->maybe, p->initial, p->unsure, what,
		 (unsigned long long)flags);
}

static size_t part(struct model *s, size_t *n)
{
	size_t first = roll(&s->dice, PAGES_N);

	*n = 1 + roll(&s->dice, roll(&s->dice, 6) ? 9 : PAGES_N);
	if (*n > PAGES_N - first)
		*n = PAGES_N - first;
	return first;
}

static int some_handle(struct model *s)
{
	return (int)roll(&s->dice, s->handles);
}

static bool all_of(const struct model *s, size_t first, size_t n, int owner)
{
	for (size_t i = first; i < first + n; i++)
		if (s->page[i].owner != owner)
			return false;
	return true;
}

/* ---- what changes memory ---- */

static void op_store(struct model *s)
{
	size_t n, first = part(s, &n), step = 1 + roll(&s->dice, 3);

	for (size_t i = first; i < first + n; i += step) {
		store(&s->m, i);
		s->page[i].written = true;
	}
}

static void op_discard(struct model *s)
{
	size_t n, first = part(s, &n);

	assert_int_equal(
		madvise(page_of(&s->m, first), n * s->m.page, MADV_DONTNEED),
		0);
	for (size_t i = first; i < first + n; i++) {
		int owner = s->page[i].owner;

		s->page[i].maybe = true;
		if (owner >= 0 && (s->caps[owner] & WTRACK_CAP_DISCARD))
			s->page[i].written = true;
		/* [K-soft-discard] The store is gone with what it stored. */
		if (owner >= 0 && !strcmp(s->backend[owner], "softdirty"))
			s->page[i].written = false;
	}
}

/* Splits the mapping, or joins it again. */
static void op_advise(struct model *s)
{
	size_t n, first = part(s, &n);

	madvise(page_of(&s->m, first), n * s->m.page,
		roll(&s->dice, 2) ? MADV_DONTDUMP : MADV_DODUMP);
}

/* ---- what changes handles ---- */

static void op_watch(struct model *s)
{
	size_t n, first = part(s, &n);
	int h = some_handle(s);
	unsigned flags = roll(&s->dice, 3) ? 0 : WTRACK_WATCH_DIRTY;
	int rc = wtrack_watch(s->t[h], page_of(&s->m, first), n * s->m.page,
			      flags);

	if (!all_of(s, first, n, NOBODY)) {
		assert_true(rc == -EEXIST || rc == -EBUSY);
		return;
	}
	assert_int_equal(rc, 0);
	for (size_t i = first; i < first + n; i++)
		s->page[i] =
			(struct shadow){ .owner = h, .initial = flags != 0 };
}

static void op_unwatch(struct model *s)
{
	size_t n, first = part(s, &n);
	int h = some_handle(s);
	int rc = wtrack_unwatch(s->t[h], page_of(&s->m, first), n * s->m.page);

	if (!all_of(s, first, n, h)) {
		assert_int_equal(rc, -ENOENT);
		return;
	}
	assert_int_equal(rc, 0);
	for (size_t i = first; i < first + n; i++)
		s->page[i].owner = NOBODY;
}

static void op_mark(struct model *s)
{
	size_t n, first = part(s, &n);
	int h = some_handle(s);
	int rc = wtrack_mark(s->t[h], page_of(&s->m, first) + 1,
			     n * s->m.page - 1);

	if (!all_of(s, first, n, h)) {
		assert_int_equal(rc, -ENOENT);
		return;
	}
	assert_int_equal(rc, 0);
	for (size_t i = first; i < first + n; i++)
		s->page[i].written = true;
}

static void open_handle(struct model *s, size_t h)
{
	s->t[h] = open_on(s->backend[h]);
	s->caps[h] = caps_of(s->t[h]);
}

static void op_reopen(struct model *s)
{
	int h = some_handle(s);

	wtrack_close(s->t[h]);
	open_handle(s, (size_t)h);
	for (size_t i = 0; i < PAGES_N; i++)
		if (s->page[i].owner == h)
			s->page[i].owner = NOBODY;
}

/* ---- looking ---- */

static void check_page(const struct model *s, int h, size_t i, uint64_t flags)
{
	const struct shadow *p = &s->page[i];

	if (p->owner != h) {
		if (flags)
			fail_model(s, i, "is not its own", flags);
		return;
	}
	if ((p->written || p->initial) && !flags)
		fail_model(s, i, "was not reported", flags);
	if (!(s->caps[h] & WTRACK_CAP_PRECISE))
		return;
	/* [K-soft-new] Where the kernel tells no more than that, it is said. */
	if (!strcmp(s->backend[h], "softdirty"))
		flags &= ~(uint64_t)WTRACK_RUN_COARSE;
	if (!strcmp(s->backend[h], "softdirty") && !p->initial &&
	    flags == (WTRACK_RUN_WRITTEN | WTRACK_RUN_DEGRADED))
		return;
	if (flags & ~(uint64_t)(WTRACK_RUN_WRITTEN | WTRACK_RUN_INITIAL))
		fail_model(s, i, "has no reason for this", flags);
	if ((flags & WTRACK_RUN_INITIAL) && !p->initial && !p->unsure)
		fail_model(s, i, "is not initial", flags);
	if (p->initial && !(flags & WTRACK_RUN_INITIAL))
		fail_model(s, i, "is initial", flags);
	if (flags == WTRACK_RUN_WRITTEN && !p->written && !p->maybe)
		fail_model(s, i, "was not written", flags);
}

static void cleared(struct shadow *p)
{
	p->unsure |= p->initial;
	p->written = p->maybe = p->initial = false;
}

/* A whole pass clears in order: nothing is unsure after it. */
static void passed(struct model *s, int h)
{
	for (size_t i = 0; i < PAGES_N; i++)
		if (s->page[i].owner == h)
			s->page[i].unsure = false;
}

static void enter(struct model *s, uint64_t *seen, const struct wtrack_run *r)
{
	uintptr_t base = (uintptr_t)s->m.base, at = r->start;

	assert_true(at >= base && r->end <= base + PAGES_N * s->m.page);
	for (; at < r->end; at += s->m.page)
		seen[(at - base) / s->m.page] = r->flags;
}

static void look(struct model *s, int h, size_t first, size_t end,
		 unsigned flags)
{
	struct wtrack_cursor at = { .next = (uintptr_t)page_of(&s->m, first),
				    .end = (uintptr_t)page_of(&s->m, end) };
	size_t nruns = 1 + roll(&s->dice, 40), calls = 1 + roll(&s->dice, 20);
	uint64_t seen[PAGES_N] = { 0 };
	struct wtrack_run runs[40];
	size_t reached;
	ssize_t n = (ssize_t)nruns;

	while (n == (ssize_t)nruns && calls--) {
		n = wtrack_collect(s->t[h], &at, runs, nruns, flags);
		assert_in_range(n, 0, nruns);
		for (ssize_t r = 0; r < n; r++)
			enter(s, seen, &runs[r]);
	}
	reached = (at.next - (uintptr_t)s->m.base) / s->m.page;
	for (size_t i = first; i < end; i++) {
		if (i < reached)
			check_page(s, h, i, seen[i]);
		else
			assert_int_equal(seen[i], 0);
		if (i < reached && (flags & WTRACK_CLEAR) &&
		    s->page[i].owner == h)
			cleared(&s->page[i]);
	}
	if (!first && reached == PAGES_N && (flags & WTRACK_CLEAR))
		passed(s, h);
}

static void op_look(struct model *s)
{
	size_t n, first = part(s, &n);
	unsigned flags = roll(&s->dice, 2) ? WTRACK_GET : BOTH;

	if (roll(&s->dice, 4))
		look(s, some_handle(s), first, first + n, flags);
	else
		look(s, some_handle(s), 0, PAGES_N, BOTH);
}

/* What the handles tell about themselves agrees too. */
static void op_ask(struct model *s)
{
	int h = some_handle(s);
	size_t mine = 0, i = roll(&s->dice, PAGES_N);
	struct wtrack_range_info info = { .size = sizeof(info) };
	int rc = wtrack_query(s->t[h], page_of(&s->m, i) + 9, &info);

	for (size_t k = 0; k < PAGES_N; k++)
		mine += s->page[k].owner == h;
	assert_int_equal(stats_of(s->t[h]).watched_bytes, mine * s->m.page);
	assert_int_equal(stats_of(s->t[h]).lost, 0);
	assert_int_equal(rc, s->page[i].owner == h ? 0 : -ENOENT);
	if (rc)
		return;
	assert_true(info.start <= (uintptr_t)page_of(&s->m, i));
	assert_true(info.end > (uintptr_t)page_of(&s->m, i));
	assert_int_equal(info.flags & ~(uint64_t)WTRACK_RANGE_INITIAL, 0);
	if (s->page[i].initial)
		assert_int_equal(info.flags, WTRACK_RANGE_INITIAL);
	for (uintptr_t at = info.start; at < info.end; at += s->m.page)
		assert_int_equal(
			s->page[(at - (uintptr_t)s->m.base) / s->m.page].owner,
			h);
}

/* ---- a run ---- */

static void step(struct model *s);

/* Only a monitor may say that it does not track, and only after a clone. */
static void in_child(struct model *s, bool clone)
{
	for (size_t h = 0; h < s->handles; h++) {
		uint64_t was = s->caps[h];

		s->caps[h] = caps_of(s->t[h]);
		if (!clone || strcmp(s->backend[h], "monitor") != 0)
			assert_int_equal(s->caps[h], was);
	}
}

/* A child goes on at random, with all dirty at first. [G7] */
static void op_child(struct model *s)
{
	bool clone = roll(&s->dice, 2);
	int status = -1;
	pid_t child;

	if (roll(&s->dice, 20))
		return;
	child = clone ? (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L)
		      : fork();
	if (!child) {
		for (size_t i = 0; i < PAGES_N; i++)
			s->page[i].initial = s->page[i].owner >= 0;
		in_child(s, clone);
		for (int i = 0; i < 60; i++)
			step(s);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static const struct {
	const char *name;
	void (*run)(struct model *s);
	size_t weight;
} ops[] = {
	{ "store", op_store, 20 },     { "discard", op_discard, 2 },
	{ "advise", op_advise, 2 },    { "watch", op_watch, 16 },
	{ "unwatch", op_unwatch, 10 }, { "mark", op_mark, 6 },
	{ "reopen", op_reopen, 1 },    { "look", op_look, 22 },
	{ "ask", op_ask, 6 },          { "child", op_child, 2 },
};

#define N_OPS (sizeof(ops) / sizeof(ops[0]))

static void step(struct model *s)
{
	size_t total = 0, pick, i;

	for (i = 0; i < N_OPS; i++)
		total += ops[i].weight;
	pick = roll(&s->dice, total);
	for (i = 0; pick >= ops[i].weight; i++)
		pick -= ops[i].weight;
	s->last = ops[i].name;
	s->step++;
	ops[i].run(s);
}

static void play(enum mem_kind kind, unsigned long seed, const char *only)
{
	unsigned long steps = env_number("WTRACK_MODEL_STEPS", 4000);
	struct model s = { .m = mem_map(kind, PAGES_N, true),
			   .dice = { seed } };

	printf("# %s, seed %lu\n", mem_kind_name(kind), seed);
	for (size_t b = 0; b < 3; b++) {
		s.backend[s.handles] = only ? only : backend_names[b];
		if (!backend_error(s.backend[s.handles]))
			open_handle(&s, s.handles++);
	}
	for (size_t i = 0; i < PAGES_N; i++)
		s.page[i].owner = NOBODY;
	while (s.step < steps)
		step(&s);
	for (size_t h = 0; h < s.handles; h++)
		wtrack_close(s.t[h]);
	for (size_t i = 0; i < PAGES_N; i++)
		store(&s.m, i);
	mem_unmap(&s.m);
}

static void backends_share_memory(void **state)
{
	unsigned long seed = env_number("WTRACK_MODEL_SEED", 4711);

	(void)state;
	play(MEM_ANON, seed, NULL);
	play(MEM_THP, seed + 1, NULL);
	play(MEM_ANON, seed + 2, NULL);
}

static void handles_share_memory(void **state)
{
	unsigned long seed = env_number("WTRACK_MODEL_SEED", 815);

	play(MEM_ANON, seed, *state);
	play(MEM_ANON, seed + 1, *state);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(backends_share_memory),
		CASE_EACH(handles_share_memory),
	};

	return RUN_CASES("model_handles", cases);
}
