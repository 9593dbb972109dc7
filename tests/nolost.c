/* SPDX-License-Identifier: MIT */
/* nolost.c: the writers and the collectors of nolost.h. */
#include "nolost.h"
#include "support_costs.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BOTH    (WTRACK_GET | WTRACK_CLEAR)
#define PAGES_N 1024

struct scene {
	struct wtrack *t;
	struct mem m;
	uint64_t *image;
	struct wtrack_snapshot *snapshot; /* used instead of collect, if set */
	struct mem beside;                /* comes and goes, for churn */
	int pipe[2];
	/* Writers rest while they are told to; guarded by `lock`. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int told; /* atomic */
	size_t resting;
	size_t writers;
};

static struct scene *scene_of(struct teammate *self)
{
	return self->team->context;
}

/* ---- writers ---- */

/* Counts up a word of its own in some page. */
void nolost_store_somewhere(struct teammate *self)
{
	struct scene *s = scene_of(self);
	uint64_t *page = (uint64_t *)page_of(&s->m, roll(&self->dice, PAGES_N));

	__atomic_fetch_add(&page[self->number], 1, __ATOMIC_RELAXED);
}

/* Mostly to a few pages, which move on now and then. */
void nolost_store_hot(struct teammate *self)
{
	struct scene *s = scene_of(self);
	size_t hot = self->steps / 4096 * 29;
	size_t page = roll(&self->dice, 8)
			      ? (hot + roll(&self->dice, 24)) % PAGES_N
			      : roll(&self->dice, PAGES_N);
	uint64_t *words = (uint64_t *)page_of(&s->m, page);

	__atomic_fetch_add(&words[self->number], 1, __ATOMIC_RELAXED);
}

/* The same, with rests. */
void nolost_store_and_rest(struct teammate *self)
{
	struct scene *s = scene_of(self);

	nolost_store_hot(self);
	if (!__atomic_load_n(&s->told, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&s->lock);
	s->resting++;
	pthread_cond_broadcast(&s->changed);
	while (s->told)
		pthread_cond_wait(&s->changed, &s->lock);
	s->resting--;
	pthread_mutex_unlock(&s->lock);
}

/*
 * Lets the kernel write.  Where it cannot write to armed pages, a clearing may
 * come between the preparation and the call: then both are tried again.
 */
void nolost_read_somewhere(struct teammate *self)
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

void nolost_come_and_go(struct teammate *self)
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

void nolost_collect_by_parts(struct scene *s)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[97];
	ssize_t n;

	while ((n = wtrack_collect(s->t, &at, runs, 97, BOTH)) > 0)
		for (ssize_t i = 0; i < n; i++)
			copy_run(s, &runs[i]);
	assert_int_equal(n, 0);
}

void nolost_collect_snapshot(struct scene *s)
{
	struct wtrack_run run;

	assert_int_equal(wtrack_snapshot(s->t, &s->snapshot), 0);
	while (wtrack_snapshot_next(s->snapshot, &run) > 0)
		copy_run(s, &run);
}

/* What lacks WTRACK_CAP_CONCURRENT clears nothing beside other threads. */
static void clear_runs(struct scene *s, const struct wtrack_run *runs, size_t n)
{
	int rc = wtrack_clear(s->t, runs, n);

	if (rc != -EAGAIN || (caps_of(s->t) & WTRACK_CAP_CONCURRENT))
		assert_int_equal(rc, 0);
}

/* All that a look reports; epochs end with whole passes only. */
void nolost_look_and_clear(struct scene *s)
{
	static struct wtrack_run runs[PAGES_N + 1];
	ssize_t n = wtrack_collect(s->t, NULL, runs, PAGES_N + 1, WTRACK_GET);

	assert_in_range(n, 0, PAGES_N);
	clear_runs(s, runs, (size_t)n);
	for (ssize_t i = 0; i < n; i++)
		copy_run(s, &runs[i]);
	nolost_collect_by_parts(s);
}

static void tell_to_rest(struct scene *s, int told)
{
	pthread_mutex_lock(&s->lock);
	__atomic_store_n(&s->told, told, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&s->changed);
	while (told && s->resting < s->writers)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/* Contents may be read when writers go on: what they write is dirty again. */
void nolost_collect_at_rest(struct scene *s)
{
	static struct wtrack_run runs[PAGES_N + 1];
	ssize_t n;

	tell_to_rest(s, 1);
	n = wtrack_collect(s->t, NULL, runs, PAGES_N + 1,
			   BOTH | WTRACK_STOPPED);
	tell_to_rest(s, 0);
	assert_in_range(n, 0, PAGES_N);
	for (ssize_t i = 0; i < n; i++)
		copy_run(s, &runs[i]);
}

void nolost_look_and_clear_at_rest(struct scene *s)
{
	static struct wtrack_run runs[PAGES_N + 1];
	ssize_t n;

	tell_to_rest(s, 1);
	n = wtrack_collect(s->t, NULL, runs, PAGES_N + 1, WTRACK_GET);
	assert_in_range(n, 0, PAGES_N);
	clear_runs(s, runs, (size_t)n);
	tell_to_rest(s, 0);
	for (ssize_t i = 0; i < n; i++)
		copy_run(s, &runs[i]);
	nolost_collect_at_rest(s);
}

/* ---- two collectors ---- */

struct share {
	struct scene *s;
	struct wtrack_cursor part[4];
	size_t n;
	const char *wrong;
};

/* Each page belongs to one part, so nobody else copies it meanwhile. */
static void *collect_share(void *arg)
{
	struct share *share = arg;
	struct wtrack_run runs[97];

	for (size_t i = 0; i < share->n; i++) {
		ssize_t n = 97;

		while (n == 97) {
			n = wtrack_collect(share->s->t, &share->part[i], runs,
					   97, BOTH);
			for (ssize_t k = 0; k < n; k++)
				copy_run(share->s, &runs[k]);
		}
		if (n < 0)
			share->wrong = "a part was not collected";
	}
	return NULL;
}

void nolost_collect_by_two(struct scene *s)
{
	struct share share[2] = { { .s = s }, { .s = s } };
	struct wtrack_cursor parts[8];
	ssize_t n = wtrack_split(s->t, NULL, parts, 8);
	pthread_t thread;

	assert_in_range(n, 2, 8);
	for (ssize_t i = 0; i < n; i++)
		share[i % 2].part[share[i % 2].n++] = parts[i];
	assert_int_equal(
		pthread_create(&thread, NULL, collect_share, &share[1]), 0);
	collect_share(&share[0]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_null(share[0].wrong);
	assert_null(share[1].wrong);
}

/* ---- a run ---- */

/* Half of it under one page table and half under the next, for two collectors.
 */
static struct mem map_across(void)
{
	size_t skip = wt_page_entries() - PAGES_N / 2;
	struct mem m = mem_map(MEM_THP, skip + PAGES_N, false);

	if (skip)
		munmap(m.base, skip * m.page);
	m.base += skip * m.page;
	m.pages = PAGES_N;
	for (size_t i = 0; i < PAGES_N; i++)
		store(&m, i);
	return m;
}

static struct scene scene_of_run(const char *backend, const struct nolost *plan)
{
	static int way;
	struct scene s = { .t = open_policy(backend, plan->policy),
			   .m = plan->kind == MEM_THP
					? map_across()
					: mem_map(plan->kind, PAGES_N, true),
			   .beside = mem_map(MEM_ANON, 16, true),
			   .lock = PTHREAD_MUTEX_INITIALIZER,
			   .changed = PTHREAD_COND_INITIALIZER,
			   .writers = 3 };

	pretend_costs(s.t, (enum ways)(way++ % N_WAYS));
	watch_pages(s.t, &s.m, 0, PAGES_N, 0);
	assert_int_equal(pipe(s.pipe), 0);
	return s;
}

static void scene_end(struct scene *s)
{
	wtrack_snapshot_free(s->snapshot);
	close(s->pipe[0]);
	close(s->pipe[1]);
	wtrack_close(s->t);
	mem_unmap(&s->m);
	mem_unmap(&s->beside);
}

void nolost_run(const char *backend, struct nolost plan, double shares)
{
	double seconds = (double)env_number("WTRACK_STRESS_SECONDS", 10);
	struct scene s = scene_of_run(backend, &plan);
	struct mem image = mem_map(MEM_ANON, PAGES_N, true);
	struct team team;
	double since = 0;

	allow_more_seconds((unsigned)seconds);
	s.image = (uint64_t *)image.base;
	memcpy(s.image, s.m.base, PAGES_N * s.m.page);
	team_init(&team, &s);
	team_add(&team, plan.writer);
	team_add(&team, plan.writer);
	team_add(&team, plan.other);
	while (time_left(&since, seconds / shares))
		plan.collect(&s);
	team_end(&team);
	s.writers = 0;
	plan.collect(&s);
	assert_memory_equal(s.image, s.m.base, PAGES_N * s.m.page);
	scene_end(&s);
	mem_unmap(&image);
}
