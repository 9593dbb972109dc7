/* SPDX-License-Identifier: MIT */
/*
 * live_suspend.c: a thread stopped anywhere in the library stops no collection.
 *
 * A gate holds a thread at each kernel entry of watch and unwatch, with the
 * library's lock, while another collects.  A harness stops the world by signal,
 * wherever its threads are, and collects and watches meanwhile.  [G4]
 */
#include "support_live.h"

#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

/* ---- at a gate ---- */

struct held {
	struct wtrack *t;
	struct mem *m;
	enum wt_sys id;
	int nth;
	int passed; /* atomic: the call is over, and never met the gate */
};

static void *watch_and_unwatch(void *arg)
{
	struct held *h = arg;

	gate_set(h->id, h->nth);
	/* Pages 8 to 11; asserts would end this thread only. */
	if (wtrack_watch(h->t, page_of(h->m, 8), 4 * h->m->page, 0) ||
	    wtrack_unwatch(h->t, page_of(h->m, 8), 4 * h->m->page))
		abort();
	gate_set(h->id, 0);
	__atomic_store_n(&h->passed, 1, __ATOMIC_RELEASE);
	gate_pass();
	return NULL;
}

/* A look, and the clearing of what it reported. */
static void look_and_clear(struct wtrack *t)
{
	struct wtrack_run runs[64];
	ssize_t n = wtrack_collect(t, NULL, runs, 64, WTRACK_GET);
	int rc;

	assert_in_range(n, 0, 64);
	rc = wtrack_clear(t, runs, (size_t)n);
	if (rc != -EAGAIN || (caps_of(t) & WTRACK_CAP_CONCURRENT))
		assert_int_equal(rc, 0);
}

/* All that a collector needs, while the other thread does not move. */
static void collect_meanwhile(struct held *h)
{
	struct wtrack_snapshot *snapshot = NULL;
	struct wtrack_cursor part;
	struct wtrack_run run;

	store(h->m, 3);
	look_and_clear(h->t);
	expect_none(h->t, h->m);
	assert_int_equal(wtrack_split(h->t, NULL, &part, 1), 1);
	store(h->m, 2);
	expect_pages(h->t, h->m, WTRACK_GET, 2);
	expect_pages(h->t, h->m, BOTH, 2);
	expect_none(h->t, h->m);
	store(h->m, 1);
	assert_int_equal(wtrack_snapshot(h->t, &snapshot), 0);
	assert_int_equal(wtrack_snapshot_next(snapshot, &run), 1);
	assert_true(wtrack_snapshot_contains(snapshot, page_of(h->m, 1)));
	wtrack_snapshot_free(snapshot);
	assert_int_equal(wtrack_query(h->t, page_of(h->m, 0), NULL), 0);
	assert_int_equal(wtrack_mark(h->t, page_of(h->m, 0), 1), 0);
	assert_int_equal(wtrack_prepare_write(h->t, page_of(h->m, 0), 1), 0);
	expect_pages(h->t, h->m, BOTH, 0);
	(void)stats_of(h->t);
	(void)caps_of(h->t);
}

/* Holds the nth such entry; false when there is none. */
static bool held_at(struct wtrack *t, struct mem *m, enum wt_sys id, int nth)
{
	struct held h = { t, m, id, nth, 0 };
	pthread_t thread;
	bool met;

	assert_int_equal(pthread_create(&thread, NULL, watch_and_unwatch, &h),
			 0);
	gate_await();
	met = !__atomic_load_n(&h.passed, __ATOMIC_ACQUIRE);
	if (met) {
		collect_meanwhile(&h);
		gate_open();
		gate_await(); /* the end of the calls */
	}
	pthread_join(thread, NULL);
	clear_all(t);
	return met;
}

static void a_thread_held_in_watch_or_unwatch_holds_up_nobody(void **state)
{
	static const enum wt_sys ids[] = { WT_SYS_IOCTL, WT_SYS_MPROTECT,
					   WT_SYS_MSYNC, WT_SYS_MMAP };
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	int places = 0;

	watch_pages(t, &m, 0, 4, 0);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		for (int nth = 1; held_at(t, &m, ids[i], nth); nth++)
			places++;
	/* msync at least, on every backend. */
	assert_true(places > 0);
	at_the_door(NULL);
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- the world stopped ---- */

struct world {
	struct wtrack *t;
	struct mem m;              /* watched all the time */
	struct mem own[TEAM_MOST]; /* each churner's */
	const struct wtrack_policy *policy;
};

#define WORLD_PAGES 256

static struct world *world_of(struct teammate *self)
{
	return self->team->context;
}

static void mutate(struct teammate *self)
{
	struct world *w = world_of(self);

	char *at = page_of(&w->m, roll(&self->dice, WORLD_PAGES));

	__atomic_fetch_add(at, 1, __ATOMIC_RELAXED);
}

static void churn(struct teammate *self)
{
	struct world *w = world_of(self);
	struct mem *own = &w->own[self->number];
	size_t len = own->pages * own->page;

	if (wtrack_watch(w->t, own->base, len, 0))
		team_wrong(self->team, "watch");
	store(own, roll(&self->dice, own->pages));
	if (wtrack_mark(w->t, own->base, 1))
		team_wrong(self->team, "mark");
	if (wtrack_unwatch(w->t, own->base, len))
		team_wrong(self->team, "unwatch");
}

/* A collector of the handle that is itself stopped, in the middle of it. */
static void collect_some(struct teammate *self)
{
	struct world *w = world_of(self);
	struct wtrack_cursor at = { .next = (uintptr_t)page_of(&w->m, 128) };
	struct wtrack_run runs[4];
	unsigned flags = roll(&self->dice, 2) ? WTRACK_GET : BOTH;
	ssize_t n = wtrack_collect(w->t, &at, runs, 4, flags);

	if (n < 0)
		team_wrong(self->team, "collect");
	if (flags == WTRACK_GET && wtrack_clear(w->t, runs, (size_t)n) &&
	    (caps_of(w->t) & WTRACK_CAP_CONCURRENT))
		team_wrong(self->team, "clear");
	if (wtrack_split(w->t, NULL, &at, 1) != 1)
		team_wrong(self->team, "split");
}

static sem_t stopped, resume;

static void stop_here(int sig)
{
	int saved = errno;

	(void)sig;
	sem_post(&stopped);
	while (sem_wait(&resume))
		;
	sem_post(&stopped);
	errno = saved;
}

static void await_all(size_t n)
{
	while (n)
		n -= !sem_wait(&stopped);
}

static void stop_world(struct team *team)
{
	for (size_t i = 0; i < team->n; i++)
		pthread_kill(team->thread[i], SIGRTMIN);
	await_all(team->n);
}

static void resume_world(struct team *team)
{
	for (size_t i = 0; i < team->n; i++)
		sem_post(&resume);
	await_all(team->n);
}

/*
 * What a collector does in a pause: nothing may hang, nothing stays dirty, but
 * for what a policy presumes.
 */
static void pause_work(struct world *w, struct mem *fresh)
{
	struct wtrack_run runs[WORLD_PAGES + 64];
	ssize_t n;

	assert_int_equal(wtrack_collect(w->t, NULL, NULL, 0,
					WTRACK_CLEAR | WTRACK_STOPPED),
			 0);
	n = wtrack_collect(w->t, NULL, runs, WORLD_PAGES + 64,
			   WTRACK_GET | WTRACK_STOPPED);
	if (is_precise(w->t))
		assert_in_range(n, 0, w->policy ? WORLD_PAGES : 0);
	if (w->policy && (caps_of(w->t) & WTRACK_CAP_CONCURRENT))
		assert_int_equal(wtrack_clear(w->t, runs, (size_t)n), 0);
	assert_int_equal(wtrack_query(w->t, w->m.base, NULL), 0);
	/* No stopped thread holds the lock: the heap may even grow. */
	watch_pages(w->t, fresh, 0, fresh->pages, 0);
	unwatch_pages(w->t, fresh, 0, fresh->pages);
}

static void stop_again_and_again(const char *backend,
				 const struct wtrack_policy *policy)
{
	double seconds = (double)env_number("WTRACK_STRESS_SECONDS", 10);
	struct world w = { .t = open_policy(backend, policy),
			   .m = mem_map(MEM_ANON, WORLD_PAGES, true),
			   .policy = policy };
	struct mem fresh = mem_map(MEM_ANON, 4, true);
	struct sigaction sa = { .sa_handler = stop_here,
				.sa_flags = SA_RESTART };
	struct team team;
	double since = 0;
	int stops = 0;

	allow_more_seconds((unsigned)seconds);
	sem_init(&stopped, 0, 0);
	sem_init(&resume, 0, 0);
	sigfillset(&sa.sa_mask);
	sigdelset(&sa.sa_mask, SIGSEGV);
	assert_int_equal(sigaction(SIGRTMIN, &sa, NULL), 0);
	for (size_t i = 0; i < 6; i++)
		w.own[i] = mem_map(MEM_ANON, 16, true);
	watch_pages(w.t, &w.m, 0, WORLD_PAGES, 0);
	team_init(&team, &w);
	team_add(&team, mutate);
	team_add(&team, mutate);
	team_add(&team, churn);
	team_add(&team, churn);
	team_add(&team, collect_some);
	team_add(&team, collect_some);
	for (; stops < 10 || time_left(&since, seconds / 16); stops++) {
		stop_world(&team);
		pause_work(&w, &fresh);
		resume_world(&team);
	}
	team_end(&team);
	wtrack_close(w.t);
	for (size_t i = 0; i < 6; i++)
		mem_unmap(&w.own[i]);
	mem_unmap(&w.m);
	mem_unmap(&fresh);
}

static void stopping_the_world_anywhere_hangs_nothing(void **state)
{
	stop_again_and_again(*state, NULL);
	stop_again_and_again(*state, &rescan_soon);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(a_thread_held_in_watch_or_unwatch_holds_up_nobody),
		CASE_EACH(stopping_the_world_anywhere_hangs_nothing),
	};

	return RUN_CASES("live_suspend", cases);
}
