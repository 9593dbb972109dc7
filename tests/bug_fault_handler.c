/* SPDX-License-Identifier: MIT */
/*
 * bug_fault_handler.c: what the handler of tracked stores must not disturb.
 *
 * Ravenbrook/mps#10: errno is not kept.  golang/go#78883, dotnet/coreclr
 * PR#16276: handlers on alternate stacks, and on none.  DataDog/dd-trace-rb
 * PR#6056: a profiler's signal arrives inside the handler.  mattias800/prosper
 * PR#1147: the handler gives up when a lock is taken.  rexglue/rexglue-sdk#441:
 * the handler reads the list of mappings for each fault.  [G5]
 *
 * All run on every backend: where no handler is needed, they must hold too.
 */
#include "support.h"

#include "sys.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define N 64

static void errno_is_kept(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, N);

	for (int i = 0; i < N; i++) {
		errno = 1000 + i;
		touch(p, (size_t)i);
		assert_int_equal(errno, 1000 + i);
	}
	wtrack_close(t);
	unmap_pages(p, N);
}

/* ---- stacks ---- */

static char *volatile shared; /* what a signal handler stores to */

static void store_in_handler(int sig)
{
	(void)sig;
	touch(shared, 5);
}

static void use_handler(int sig, int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = store_in_handler;
	sa.sa_flags = flags;
	assert_int_equal(sigaction(sig, &sa, NULL), 0);
}

static void stores_work_on_an_alternate_stack_and_without_one(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = shared = map_watched(t, N);
	stack_t alt = { .ss_size = 65536 }, old;

	use_handler(SIGUSR1, 0);
	raise(SIGUSR1);
	assert_dirty(t, p, 5);
	alt.ss_sp = malloc(alt.ss_size);
	assert_int_equal(sigaltstack(&alt, &old), 0);
	clear_all(t);
	touch(p, 6); /* the fault's handler has the alternate stack */
	assert_dirty(t, p, 6);
	clear_all(t);
	use_handler(SIGUSR1, SA_ONSTACK);
	raise(SIGUSR1); /* the store is made on it, and the fault too */
	assert_dirty(t, p, 5);
	sigaltstack(&old, NULL);
	free(alt.ss_sp);
	signal(SIGUSR1, SIG_DFL);
	wtrack_close(t);
	unmap_pages(p, N);
}

/*
 * A stack whose deeper part is watched: the fault must not need it.  The upper
 * part is not, because libc runs there with signals blocked.
 */
#define STACK_PAGES 256
#define DEEP_PAGES  192

static int __attribute__((noinline)) descend(int depth)
{
	volatile char frame[1024];

	frame[0] = (char)depth;
	frame[sizeof(frame) - 1] = frame[0];
	return depth ? descend(depth - 1) + frame[0] : frame[0];
}

static void *run_on_stack(void *arg)
{
	stack_t alt = { .ss_sp = arg, .ss_size = 65536 };

	sigaltstack(&alt, NULL);
	descend((STACK_PAGES - DEEP_PAGES + 20) * (int)page_size() / 1024);
	alt.ss_flags = SS_DISABLE;
	sigaltstack(&alt, NULL);
	return NULL;
}

static void a_watched_stack_works_with_an_alternate_one(void **state)
{
	struct wtrack *t = open_on(*state);
	char *stack = map_pages(STACK_PAGES), *alt = malloc(65536);
	pthread_attr_t attr;
	pthread_t thread;

	assert_int_equal(wtrack_watch(t, stack, DEEP_PAGES * page_size(), 0),
			 0);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, STACK_PAGES * page_size());
	assert_int_equal(pthread_create(&thread, &attr, run_on_stack, alt), 0);
	pthread_join(thread, NULL);
	assert_true(is_dirty(t, stack + (DEEP_PAGES - 1) * page_size()));
	assert_true(is_dirty(t, stack + (DEEP_PAGES - 10) * page_size()));
	if (caps_of(t) & WTRACK_CAP_PRECISE)
		assert_false(is_dirty(t, stack));
	pthread_attr_destroy(&attr);
	free(alt);
	wtrack_close(t);
	unmap_pages(stack, STACK_PAGES);
}

/* ---- other signals ---- */

static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	int saved = errno;

	(void)sig;
	errno = 99;
	touch(shared, N - 1); /* a fault inside the handler */
	ticks++;
	errno = saved;
}

static void storm(bool on)
{
	struct itimerval every = { { 0, on ? 200 : 0 }, { 0, on ? 200 : 0 } };
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = tick;
	sa.sa_flags = SA_RESTART;
	if (on)
		sigaction(SIGPROF, &sa, NULL);
	assert_int_equal(setitimer(ITIMER_PROF, &every, NULL), 0);
}

static void a_storm_of_profiling_signals_breaks_nothing(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = shared = map_watched(t, N);

	ticks = 0;
	storm(true);
	for (int round = 0; round < 3000 || ticks < 50; round++) {
		size_t page = (size_t)round % (N - 1);

		errno = 7;
		touch(p, page);
		assert_int_equal(errno, 7);
		assert_dirty_superset(t, p, PAGES(page));
		clear_all(t);
	}
	storm(false);
	clear_all(t);
	assert_clean(t);
	wtrack_close(t);
	unmap_pages(p, N);
}

/* ---- threads ---- */

struct race {
	struct wtrack *t;
	char *p;
	int stop;
};

/* All threads store to the same pages: most faults find the work done. */
static void *store_on(void *arg)
{
	struct race *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED))
		for (size_t i = 0; i < N; i++)
			__atomic_fetch_add(r->p + i * page_size(), 1,
					   __ATOMIC_RELAXED);
	return NULL;
}

static void a_fault_never_gives_up_on_contention(void **state)
{
	struct race r = { open_on(*state), NULL, 0 };
	pthread_t thread[8];

	r.p = map_watched(r.t, N);
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, store_on, &r);
	for (int i = 0; i < 2000; i++) {
		clear_all(r.t);
		/* A handle that comes and goes takes every lock there is. */
		if (i % 100 == 0) {
			struct wtrack *other = open_on(*state);
			char *q = map_watched(other, 4);

			touch(q, 1);
			assert_dirty(other, q, 1);
			wtrack_close(other);
			unmap_pages(q, 4);
		}
	}
	__atomic_store_n(&r.stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
	clear_all(r.t);
	assert_clean(r.t);
	wtrack_close(r.t);
	unmap_pages(r.p, N);
}

/* ---- what a fault costs ---- */

static int entries[WT_SYS_YIELD + 1];

static bool count_entries(enum wt_sys id, const long args[6], long *result)
{
	(void)args;
	(void)result;
	entries[id]++;
	return false;
}

static void a_fault_is_one_mprotect_and_nothing_else(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, N);
	uint64_t faults = stats_of(t).faults;
	int others = 0;

	memset(entries, 0, sizeof(entries));
	wt_sys_hook = count_entries;
	for (size_t i = 0; i < N; i++)
		touch(p, i);
	for (size_t i = 0; i < N; i++)
		touch(p, i); /* [G8] once per page and epoch */
	wt_sys_hook = NULL;
	faults = stats_of(t).faults - faults;
	assert_true(faults == 0 || faults == N);
	for (int i = 0; i <= WT_SYS_YIELD; i++)
		others += i == WT_SYS_MPROTECT ? 0 : entries[i];
	assert_int_equal(entries[WT_SYS_MPROTECT], faults);
	assert_int_equal(others, 0);
	wtrack_close(t);
	unmap_pages(p, N);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(errno_is_kept),
		CASE_EACH(stores_work_on_an_alternate_stack_and_without_one),
		CASE_NEEDS_IF(a_watched_stack_works_with_an_alternate_one, 0,
			      lacks_native_run),
		CASE_EACH(a_storm_of_profiling_signals_breaks_nothing),
		CASE_EACH(a_fault_never_gives_up_on_contention),
		CASE_EACH(a_fault_is_one_mprotect_and_nothing_else),
	};

	return RUN_CASES("fault_handler", cases);
}
