/* SPDX-License-Identifier: MIT */
/*
 * model_random.c: random operations, held against a shadow of each page.
 *
 * What was written must be reported [G1]; what was not must not be, or must say
 * in its flags why it is [G2]; what was lost must say so [G3].  A failure
 * prints the seed; WTRACK_MODEL_SEED and WTRACK_MODEL_STEPS set it and the
 * length.
 */
#include "support_live.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOTH    (WTRACK_GET | WTRACK_CLEAR)
#define PAGES_N 96

/* What is known of a page. */
struct shadow {
	bool watched;
	bool written; /* must be reported */
	bool maybe;   /* may be: its contents or protection were meddled with */
	bool initial; /* must be reported, as such */
	bool unsure;  /* may be, as such: cleared out of order */
	bool lost;    /* must be reported, as such */
};

struct model {
	struct wtrack *t;
	uint64_t caps;
	struct mem m;
	enum mem_kind kind;
	struct dice dice;
	struct shadow page[PAGES_N];
	const char *last; /* operation */
};

static void fail_model(const struct model *s, size_t i, const char *what,
		       uint64_t flags)
{
	fail_msg("page %zu (watched %d written %d maybe %d initial %d lost %d) "
		 "%s, flags %#llx, after %s on %s",
		 i, s->page[i].watched, s->page[i].written, s->page[i].maybe,
		 s->page[i].initial, s->page[i].lost, what,
		 (unsigned long long)flags, s->last, mem_kind_name(s->kind));
}

/* A random part: its first page, and how many. */
static size_t part(struct model *s, size_t *n)
{
	size_t first = roll(&s->dice, PAGES_N);
	size_t most = roll(&s->dice, 4) ? 8 : PAGES_N;

	*n = 1 + roll(&s->dice, most);
	if (*n > PAGES_N - first)
		*n = PAGES_N - first;
	return first;
}

static bool all_watched(const struct model *s, size_t first, size_t n, bool is)
{
	for (size_t i = first; i < first + n; i++)
		if (s->page[i].watched != is)
			return false;
	return true;
}

/* ---- operations on the memory ---- */

static void op_store(struct model *s)
{
	size_t n, first = part(s, &n);

	for (size_t i = first; i < first + n; i++) {
		store(&s->m, i);
		s->page[i].written = true;
	}
}

static void op_load(struct model *s)
{
	size_t n, first = part(s, &n);

	for (size_t i = first; i < first + n; i++)
		(void)*(volatile char *)page_of(&s->m, i);
}

static void op_kernel_write(struct model *s)
{
	char *at = page_of(&s->m, roll(&s->dice, PAGES_N));
	size_t i = (size_t)(at - s->m.base) / s->m.page;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "k", 1), 1);
	assert_int_equal(wtrack_prepare_write(s->t, at, 1), 0);
	assert_int_equal(read(fds[0], at, 1), 1);
	close(fds[0]);
	close(fds[1]);
	s->page[i].written = true;
}

static void op_discard(struct model *s)
{
	size_t n, first = part(s, &n);
	bool anon = s->kind == MEM_ANON || s->kind == MEM_THP;

	assert_int_equal(
		madvise(page_of(&s->m, first), n * s->m.page, MADV_DONTNEED),
		0);
	for (size_t i = first; i < first + n; i++) {
		s->page[i].maybe = true;
		if (anon && (s->caps & WTRACK_CAP_DISCARD))
			s->page[i].written = true;
		/* [K-soft-discard] The store is gone with what it stored. */
		if (runs_on("softdirty"))
			s->page[i].written = false;
	}
}

/* There and back.  With mprotect that undoes the tracking: it must be seen. */
static void op_protect(struct model *s)
{
	size_t n, first = part(s, &n);
	char *at = page_of(&s->m, first);

	assert_int_equal(mprotect(at, n * s->m.page, PROT_READ), 0);
	assert_int_equal(mprotect(at, n * s->m.page, PROT_READ | PROT_WRITE),
			 0);
	for (size_t i = first; i < first + n; i++)
		s->page[i].maybe |= !(s->caps & WTRACK_CAP_PROTECT);
}

static void op_advise(struct model *s)
{
	size_t n, first = part(s, &n);

	madvise(page_of(&s->m, first), n * s->m.page,
		roll(&s->dice, 2) ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

static void op_replace(struct model *s)
{
	size_t i = roll(&s->dice, PAGES_N);
	char *at = page_of(&s->m, i);
	bool gap = roll(&s->dice, 2);

	/* A rare event, or all would be lost soon. */
	if (roll(&s->dice, 8))
		return;
	if (gap)
		assert_int_equal(munmap(at, s->m.page), 0);
	assert_ptr_equal(mmap(at, s->m.page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 at);
	s->page[i].lost = s->page[i].watched;
	s->page[i].written = s->page[i].initial = false;
	s->page[i].maybe = true;
}

/* ---- operations on the tracker ---- */

static void op_watch(struct model *s)
{
	size_t n, first = part(s, &n);
	unsigned flags = roll(&s->dice, 3) ? 0 : WTRACK_WATCH_DIRTY;

	if (!all_watched(s, first, n, false))
		return;
	watch_pages(s->t, &s->m, first, n, flags);
	for (size_t i = first; i < first + n; i++)
		s->page[i] = (struct shadow){ .watched = true,
					      .initial = flags != 0 };
}

static void op_unwatch(struct model *s)
{
	size_t n, first = part(s, &n);

	if (!all_watched(s, first, n, true))
		return;
	unwatch_pages(s->t, &s->m, first, n);
	for (size_t i = first; i < first + n; i++)
		s->page[i].watched = false;
}

static void op_mark(struct model *s)
{
	size_t n, first = part(s, &n);

	for (size_t i = first; i < first + n; i++)
		if (!s->page[i].watched || s->page[i].lost)
			return;
	assert_int_equal(
		wtrack_mark(s->t, page_of(&s->m, first), n * s->m.page), 0);
	for (size_t i = first; i < first + n; i++)
		s->page[i].written = true;
}

/* ---- looking ---- */

static void check_page(const struct model *s, size_t i, uint64_t flags)
{
	const struct shadow *p = &s->page[i];

	if (!p->watched && flags)
		fail_model(s, i, "is not watched but reported", flags);
	if (!p->watched)
		return;
	if ((p->written || p->initial) && !flags)
		fail_model(s, i, "was not reported", flags);
	if (!(s->caps & WTRACK_CAP_PRECISE))
		return;
	/* A dirty page needs no protection: mprotect goes on with another. */
	if (p->lost && !(flags & (WTRACK_RUN_LOST | WTRACK_RUN_DEGRADED)) &&
	    (!flags || (s->caps & WTRACK_CAP_PROTECT)))
		fail_model(s, i, "was not reported as lost", flags);
	if ((flags & WTRACK_RUN_INITIAL) && !p->initial && !p->unsure)
		fail_model(s, i, "was reported as initial", flags);
	if (p->initial && !p->lost && !(flags & ~(uint64_t)WTRACK_RUN_WRITTEN))
		fail_model(s, i, "was not reported as initial", flags);
	if (!p->written && !p->maybe && flags == WTRACK_RUN_WRITTEN)
		fail_model(s, i, "was reported as written", flags);
}

static void cleared(const struct model *s, struct shadow *p)
{
	bool again = s->caps & WTRACK_CAP_PROTECT;

	p->unsure |= p->initial;
	p->written = p->maybe = p->initial = false;
	/* What is mapped again is armed again where that needs no register. */
	p->lost = p->lost && again;
}

/* Some calls of a collection over [first, end); checks what they covered. */
static void look(struct model *s, size_t first, size_t end, size_t nruns,
		 size_t calls, unsigned flags)
{
	struct wtrack_cursor at = { .next = (uintptr_t)page_of(&s->m, first),
				    .end = (uintptr_t)page_of(&s->m, end) };
	uint64_t seen[PAGES_N] = { 0 };
	struct wtrack_run runs[128];
	size_t reached;

	for (ssize_t n = 1; n > 0 && calls; calls--) {
		n = wtrack_collect(s->t, &at, runs, nruns, flags);
		assert_true(n >= 0 && (size_t)n <= nruns);
		for (ssize_t r = 0; r < n; r++)
			for (uintptr_t a = runs[r].start; a < runs[r].end;
			     a += s->m.page)
				seen[(a - (uintptr_t)s->m.base) / s->m.page] |=
					runs[r].flags;
	}
	reached = (at.next - (uintptr_t)s->m.base) / s->m.page;
	for (size_t i = first; i < end; i++) {
		if (i < reached)
			check_page(s, i, seen[i]);
		else
			assert_int_equal(seen[i], 0);
		if (i < reached && (flags & WTRACK_CLEAR))
			cleared(s, &s->page[i]);
	}
}

static void op_look(struct model *s)
{
	size_t n, first = part(s, &n);

	look(s, first, first + n, 128, 100, WTRACK_GET);
}

static void op_collect(struct model *s)
{
	size_t n, first = part(s, &n);

	look(s, first, first + n, 1 + roll(&s->dice, 5), 1 + roll(&s->dice, 6),
	     BOTH);
}

static void sure(struct model *s)
{
	for (size_t i = 0; i < PAGES_N; i++)
		s->page[i].unsure = false;
}

static void op_collect_all(struct model *s)
{
	look(s, 0, PAGES_N, 128, 100, BOTH);
	sure(s);
}

static void op_snapshot(struct model *s)
{
	struct wtrack_snapshot *snapshot = NULL;
	struct wtrack_run run;
	uint64_t seen[PAGES_N] = { 0 };

	assert_int_equal(wtrack_snapshot(s->t, &snapshot), 0);
	while (wtrack_snapshot_next(snapshot, &run) > 0)
		for (uintptr_t a = run.start; a < run.end; a += s->m.page)
			seen[(a - (uintptr_t)s->m.base) / s->m.page] =
				run.flags;
	for (size_t i = 0; i < PAGES_N; i++) {
		assert_int_equal(
			wtrack_snapshot_contains(snapshot, page_of(&s->m, i)),
			seen[i] != 0);
		check_page(s, i, seen[i]);
		cleared(s, &s->page[i]);
	}
	wtrack_snapshot_free(snapshot);
	sure(s);
}

/* ---- fork ---- */

/* All watched is dirty once; then the child tracks by itself. [G7] */
static void in_child(struct model *s)
{
	for (size_t i = 0; i < PAGES_N; i++) {
		s->page[i].initial = s->page[i].watched;
		/* What is mapped is registered anew. */
		s->page[i].lost = false;
	}
	s->last = "fork";
	op_collect_all(s);
	op_store(s);
	op_collect_all(s);
}

static void op_fork(struct model *s)
{
	int status = -1;
	pid_t child;

	if (roll(&s->dice, 8))
		return;
	child = fork();
	if (!child) {
		in_child(s);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- a run ---- */

static const struct {
	const char *name;
	void (*run)(struct model *s);
	size_t weight;
} ops[] = {
	{ "store", op_store, 20 },
	{ "load", op_load, 4 },
	{ "kernel write", op_kernel_write, 4 },
	{ "discard", op_discard, 2 },
	{ "mprotect", op_protect, 2 },
	{ "madvise", op_advise, 1 },
	{ "replace", op_replace, 2 },
	{ "watch", op_watch, 8 },
	{ "unwatch", op_unwatch, 4 },
	{ "mark", op_mark, 3 },
	{ "look", op_look, 10 },
	{ "collect", op_collect, 12 },
	{ "collect all", op_collect_all, 4 },
	{ "snapshot", op_snapshot, 2 },
	{ "fork", op_fork, 1 },
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
	ops[i].run(s);
}

static void play(const char *backend, enum mem_kind kind, unsigned long seed)
{
	unsigned long steps = env_number("WTRACK_MODEL_STEPS", 1500);
	struct model s = { .t = open_on(backend),
			   .m = mem_map(kind, PAGES_N, true),
			   .kind = kind,
			   .dice = { seed } };

	s.caps = caps_of(s.t);
	if (!watches_kind(s.t, kind))
		steps = 0;
	printf("# %s on %s, seed %lu\n", mem_kind_name(kind), backend, seed);
	for (unsigned long i = 0; i < steps; i++)
		step(&s);
	wtrack_close(s.t);
	/* What the backend took away is given back. */
	for (size_t i = 0; i < PAGES_N; i++)
		store(&s.m, i);
	mem_unmap(&s.m);
}

static void random_operations_agree_with_their_shadow(void **state)
{
	static const enum mem_kind kinds[] = { MEM_ANON, MEM_MEMFD,
					       MEM_FILE_PRIVATE,
					       MEM_FILE_SHARED, MEM_THP };
	unsigned long seed = env_number("WTRACK_MODEL_SEED", 20261);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (unsigned long more = 0; more < 3; more++)
			play(*state, kinds[i], seed + more);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(random_operations_agree_with_their_shadow),
	};

	return RUN_CASES("model_random", cases);
}
