/* SPDX-License-Identifier: MIT */
/* live_fork_threads.c: forks while other threads watch, write and collect. */
#include "support_live.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

struct scene {
	struct wtrack *t;
	struct mem m;      /* 16 pages, watched, the main thread's */
	struct mem churn;  /* watched and unwatched by others */
	struct mem target; /* watched, written by others */
};

static struct scene scene(const char *backend)
{
	struct scene s = { open_on(backend), mem_map(MEM_ANON, 16, true),
			   mem_map(MEM_ANON, 64, true),
			   mem_map(MEM_ANON, 64, true) };

	watch_pages(s.t, &s.m, 0, 16, 0);
	watch_pages(s.t, &s.target, 0, 64, 0);
	return s;
}

static void end(struct scene *s)
{
	wtrack_close(s->t);
	mem_unmap(&s->m);
	mem_unmap(&s->churn);
	mem_unmap(&s->target);
}

static void churn(struct teammate *self)
{
	struct scene *s = self->team->context;
	size_t page = 8 * self->number + roll(&self->dice, 8);
	void *at = page_of(&s->churn, page);

	if (wtrack_watch(s->t, at, s->churn.page, 0))
		team_wrong(self->team, "watch failed");
	store(&s->churn, page);
	if (wtrack_unwatch(s->t, at, s->churn.page))
		team_wrong(self->team, "unwatch failed");
}

static void write_target(struct teammate *self)
{
	struct scene *s = self->team->context;

	store(&s->target, roll(&self->dice, 64));
}

static void collect_target(struct teammate *self)
{
	struct scene *s = self->team->context;
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[8];

	at.next = (uintptr_t)s->target.base;
	at.end = at.next + 64 * s->target.page;
	if (wtrack_collect(s->t, &at, runs, 8, BOTH) < 0)
		team_wrong(self->team, "collect failed");
}

static void busy_team(struct team *team, struct scene *s)
{
	team_init(team, s);
	team_add(team, churn);
	team_add(team, churn);
	team_add(team, write_target);
	team_add(team, collect_target);
}

/* Which of the 16 pages are reported, looking at nothing else. */
static unsigned dirty_bits(struct scene *s, unsigned flags, uint64_t *reasons)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[16];
	unsigned bits = 0;
	ssize_t n;

	at.next = (uintptr_t)s->m.base;
	at.end = at.next + 16 * s->m.page;
	*reasons = 0;
	n = wtrack_collect(s->t, &at, runs, 16, flags);
	CHECK(n >= 0);
	for (ssize_t i = 0; i < n; i++) {
		size_t p = (runs[i].start - (uintptr_t)s->m.base) / s->m.page;

		*reasons |= runs[i].flags;
		for (; (uintptr_t)page_of(&s->m, p) < runs[i].end; p++)
			bits |= 1u << p;
	}
	return bits;
}

static void check_child(struct scene *s)
{
	uint64_t reasons;

	CHECK(dirty_bits(s, BOTH, &reasons) == 0xffff);
	CHECK(reasons & (WTRACK_RUN_INITIAL | WTRACK_RUN_UNTRACKED));
	store(&s->m, 2);
	store(&s->m, 9);
	if (is_precise(s->t)) {
		CHECK(dirty_bits(s, BOTH, &reasons) == (1u << 2 | 1u << 9));
		CHECK(reasons == WTRACK_RUN_WRITTEN);
	}
	/* What was in transition is watched, or it is not, and can be both. */
	wtrack_unwatch(s->t, s->m.base, s->m.page);
	CHECK(wtrack_watch(s->t, s->m.base, s->m.page, 0) == 0);
	store(&s->m, 0);
	CHECK(dirty_bits(s, BOTH, &reasons) & 1);
	wtrack_close(s->t);
}

static void fork_and_check(struct scene *s, pid_t (*make)(void), int round)
{
	uint64_t reasons;
	unsigned bit = 1u << (round % 16);
	/* Then the other thread is held, and writes nothing. */
	bool alone = !(caps_of(s->t) & WTRACK_CAP_CONCURRENT);
	unsigned flags = alone ? BOTH | WTRACK_STOPPED : BOTH;
	int status = -1;
	pid_t child;

	store(&s->m, (size_t)round % 16);
	child = make();
	if (!child) {
		alarm(60);
		check_child(s);
		_exit(0);
	}
	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(status == 0);
	if (is_precise(s->t)) {
		CHECK(dirty_bits(s, flags, &reasons) == bit);
		CHECK(dirty_bits(s, flags, &reasons) == 0);
	}
}

static pid_t by_fork(void)
{
	return fork();
}

static pid_t by_clone(void)
{
	return (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
}

static void fork_while_others_are_busy(void **state)
{
	struct scene s = scene(*state);
	struct team team;

	busy_team(&team, &s);
	for (int round = 0; round < 60; round++)
		fork_and_check(&s, by_fork, round);
	team_end(&team);
	end(&s);
}

/* ---- a bare clone at the worst moment ---- */

struct stuck {
	struct scene s;
	enum wt_sys id;
	bool unwatch;
	pthread_t thread;
};

/* Waits at the gate in the middle of watch or unwatch, with the lock held. */
static void *get_stuck(void *arg)
{
	struct stuck *k = arg;
	size_t len = 8 * k->s.churn.page;

	if (k->unwatch)
		wtrack_watch(k->s.t, k->s.churn.base, len, 0);
	gate_set(k->id, 1);
	if (k->unwatch)
		wtrack_unwatch(k->s.t, k->s.churn.base, len);
	else
		wtrack_watch(k->s.t, k->s.churn.base, len, 0);
	return NULL;
}

/* The first entry of the kernel in watch and unwatch that each backend makes.
 */
static bool stick(struct stuck *k, const char *backend, bool unwatch)
{
	k->s = scene(backend);
	k->unwatch = unwatch;
	k->id = WT_SYS_IOCTL;
	if (!strcmp(backend, "mprotect"))
		k->id = WT_SYS_MPROTECT;
	else if (!strcmp(backend, "all") || !strcmp(backend, "softdirty"))
		k->id = WT_SYS_MSYNC;
	if (unwatch && k->id == WT_SYS_MSYNC) {
		end(&k->s);
		return false;
	}
	CHECK(pthread_create(&k->thread, NULL, get_stuck, k) == 0);
	gate_await();
	return true;
}

static void unstick(struct stuck *k)
{
	gate_open();
	CHECK(pthread_join(k->thread, NULL) == 0);
	fail_no_more();
	end(&k->s);
}

static void clone_with_the_lock_held(void **state)
{
	for (int unwatch = 0; unwatch < 2; unwatch++) {
		struct stuck k;

		if (!stick(&k, *state, unwatch))
			continue;
		for (int round = 0; round < 5; round++)
			fork_and_check(&k.s, by_clone, round);
		unstick(&k);
	}
}

static void fork_again(struct scene *s)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		alarm(50);
		check_child(s);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(status == 0);
	check_child(s);
}

/* The clone's first act is a fork, whose handlers want the lock. */
static void clone_with_the_lock_held_then_fork(void **state)
{
	for (int unwatch = 0; unwatch < 2; unwatch++) {
		struct stuck k;
		int status = -1;
		pid_t child;

		if (!stick(&k, *state, unwatch))
			continue;
		child = by_clone();
		if (!child) {
			alarm(60);
			fork_again(&k.s);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		unstick(&k);
	}
}

/* A child that cannot open what it needs says so in every run, and lives on. */
static void a_child_without_descriptors(struct scene *s)
{
	uint64_t reasons;
	struct wtrack *again;

	fail_entry(WT_SYS_OPEN, 1, 1 << 20, -EMFILE);
	for (int i = 0; i < 3; i++) {
		CHECK(dirty_bits(s, BOTH, &reasons) == 0xffff);
		CHECK(reasons & (WTRACK_RUN_UNTRACKED | WTRACK_RUN_INITIAL));
	}
	fail_no_more();
	wtrack_close(s->t);
	again = open_on("scan");
	watch_pages(again, &s->m, 0, 16, 0);
	store(&s->m, 3);
	CHECK(is_dirty(again, page_of(&s->m, 3)));
	CHECK(!is_dirty(again, page_of(&s->m, 4)));
	wtrack_close(again);
}

static void without_descriptors_all_is_untracked(void **state)
{
	struct scene s = scene("scan");
	int status = -1;
	pid_t child = fork();

	(void)state;
	if (!child) {
		alarm(60);
		a_child_without_descriptors(&s);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	end(&s);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_NEEDS_IF(fork_while_others_are_busy, WTRACK_CAP_CONCURRENT,
			      lacks_untouched_threads),
		CASE_NEEDS_IF(clone_with_the_lock_held, 0,
			      lacks_untouched_threads),
		CASE_NEEDS_IF(clone_with_the_lock_held_then_fork, 0,
			      lacks_untouched_threads),
		CASE_IF(without_descriptors_all_is_untracked, lacks_scan),
	};

	return RUN_CASES("fork_threads", cases);
}
