/* SPDX-License-Identifier: MIT */
/*
 * model_nolost.c: an image made of reported pages only equals the memory.
 *
 * Threads write to watched memory while a collector copies each page that is
 * reported, after the collection that reported it has returned.  When they have
 * stopped, one more collection must complete the image.  [G1]
 *
 * WTRACK_STRESS_SECONDS=N makes the program run for about N seconds (10).
 */
#include "support_live.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BOTH    (WTRACK_GET | WTRACK_CLEAR)
#define PAGES_N 1024

/* Cases, times the backends: the share of the time that each gets. */
#define SHARES (6 * 3)

struct scene {
	struct wtrack *t;
	struct mem m;
	uint64_t *image;
	struct wtrack_snapshot *snapshot; /* used instead of collect, if set */
	struct mem beside;                /* comes and goes, for churn */
	int pipe[2];
};

static struct scene *scene_of(struct teammate *self)
{
	return self->team->context;
}

/* ---- writers ---- */

/* Counts up a word of its own in some page. */
static void store_somewhere(struct teammate *self)
{
	struct scene *s = scene_of(self);
	uint64_t *page = (uint64_t *)page_of(&s->m, roll(&self->dice, PAGES_N));

	__atomic_fetch_add(&page[self->number], 1, __ATOMIC_RELAXED);
}

/*
 * Lets the kernel write.  Where it cannot write to armed pages, a clearing may
 * come between the preparation and the call: then both are tried again.
 */
static void read_somewhere(struct teammate *self)
{
	struct scene *s = scene_of(self);
	char *at = page_of(&s->m, roll(&self->dice, PAGES_N)) + 256;
	long n;

	/* Not read(): a sanitizer would take the collector's look for a race.
	 */
	if (write(s->pipe[1], &self->steps, sizeof(self->steps)) !=
	    sizeof(self->steps))
		team_wrong(self->team, "write to a pipe");
	do {
		if (wtrack_prepare_write(s->t, at, sizeof(self->steps)))
			team_wrong(self->team, "prepare_write");
		n = syscall(SYS_read, s->pipe[0], at, sizeof(self->steps));
	} while (n < 0 && errno == EFAULT);
	if (n != sizeof(self->steps))
		team_wrong(self->team, "read into watched memory");
}

static void come_and_go(struct teammate *self)
{
	struct scene *s = scene_of(self);
	size_t len = s->beside.pages * s->beside.page;

	if (wtrack_watch(s->t, s->beside.base, len, 0))
		team_wrong(self->team, "watch");
	store(&s->beside, roll(&self->dice, s->beside.pages));
	if (wtrack_unwatch(s->t, s->beside.base, len))
		team_wrong(self->team, "unwatch");
}

/* ---- the collector ---- */

static void copy_run(struct scene *s, const struct wtrack_run *run)
{
	uintptr_t base = (uintptr_t)s->m.base, end = base + PAGES_N * s->m.page;
	uintptr_t from = run->start < base ? base : run->start;
	uintptr_t to = run->end < end ? run->end : end;

	for (; from < to; from += sizeof(uint64_t))
		s->image[(from - base) / sizeof(uint64_t)] = __atomic_load_n(
			(const uint64_t *)from, __ATOMIC_RELAXED);
}

static void collect_by_parts(struct scene *s)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[97];
	ssize_t n;

	while ((n = wtrack_collect(s->t, &at, runs, 97, BOTH)) > 0)
		for (ssize_t i = 0; i < n; i++)
			copy_run(s, &runs[i]);
	assert_int_equal(n, 0);
}

static void collect_snapshot(struct scene *s)
{
	struct wtrack_run run;

	assert_int_equal(wtrack_snapshot(s->t, &s->snapshot), 0);
	while (wtrack_snapshot_next(s->snapshot, &run) > 0)
		copy_run(s, &run);
}

/* ---- a run ---- */

typedef void step_fn(struct teammate *self);

static void run(const char *backend, enum mem_kind kind, step_fn *other,
		void (*collect)(struct scene *s))
{
	double seconds = (double)env_number("WTRACK_STRESS_SECONDS", 10);
	struct scene s = { .t = open_on(backend),
			   .m = mem_map(kind, PAGES_N, true),
			   .beside = mem_map(MEM_ANON, 16, true) };
	struct mem image = mem_map(MEM_ANON, PAGES_N, true);
	struct team team;
	double since = 0;

	allow_more_seconds((unsigned)seconds);
	s.image = (uint64_t *)image.base;
	memcpy(s.image, s.m.base, PAGES_N * s.m.page);
	watch_pages(s.t, &s.m, 0, PAGES_N, 0);
	assert_int_equal(pipe(s.pipe), 0);
	team_init(&team, &s);
	team_add(&team, store_somewhere);
	team_add(&team, store_somewhere);
	team_add(&team, other);
	while (time_left(&since, seconds / SHARES))
		collect(&s);
	team_end(&team);
	collect(&s);
	assert_memory_equal(s.image, s.m.base, PAGES_N * s.m.page);

	wtrack_snapshot_free(s.snapshot);
	close(s.pipe[0]);
	close(s.pipe[1]);
	wtrack_close(s.t);
	mem_unmap(&image);
	mem_unmap(&s.m);
	mem_unmap(&s.beside);
}

static void nothing_is_lost(void **state)
{
	run(*state, MEM_ANON, store_somewhere, collect_by_parts);
}

static void nothing_the_kernel_writes_is_lost(void **state)
{
	run(*state, MEM_ANON, read_somewhere, collect_by_parts);
}

static void nothing_is_lost_while_ranges_come_and_go(void **state)
{
	run(*state, MEM_ANON, come_and_go, collect_by_parts);
}

static void nothing_is_lost_by_snapshots(void **state)
{
	run(*state, MEM_ANON, store_somewhere, collect_snapshot);
}

static void nothing_is_lost_in_huge_pages(void **state)
{
	run(*state, MEM_THP, store_somewhere, collect_by_parts);
}

static void nothing_is_lost_in_shared_memory(void **state)
{
	run(*state, MEM_MEMFD, store_somewhere, collect_by_parts);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(nothing_is_lost),
		CASE_EACH(nothing_the_kernel_writes_is_lost),
		CASE_EACH(nothing_is_lost_while_ranges_come_and_go),
		CASE_EACH(nothing_is_lost_by_snapshots),
		CASE_EACH(nothing_is_lost_in_huge_pages),
		CASE_ON_KIND(nothing_is_lost_in_shared_memory, MEM_MEMFD, 0,
			     NULL),
	};

	return RUN_CASES("model_nolost", cases);
}
