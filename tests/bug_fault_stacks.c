/* SPDX-License-Identifier: MIT */
/*
 * bug_fault_stacks.c: tracked stores on any stack, and inside signal handlers.
 *
 * golang/go#78883, dotnet/coreclr PR#16276: handlers on alternate stacks, and
 * on none.  DataDog/dd-trace-rb PR#6056: a profiler's signal arrives inside the
 * handler.  All run on every backend: where no handler is needed, they must
 * hold too.  [G5]
 */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define N 64

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

/* One frame of so many bytes: recursion could become a loop. */
static void __attribute__((noinline)) descend(size_t bytes)
{
	volatile char *frame = __builtin_alloca(bytes);

	for (size_t i = 1; i <= bytes; i += 1024)
		frame[bytes - i] = 1;
}

static void *run_on_stack(void *arg)
{
	stack_t alt = { .ss_sp = arg, .ss_size = 65536 };

	sigaltstack(&alt, NULL);
	descend((STACK_PAGES - DEEP_PAGES + 20) * page_size());
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

int main(void)
{
	static const struct test_case cases[] = {
		CASE_NEEDS_IF(stores_work_on_an_alternate_stack_and_without_one,
			      0, lacks_untouched_threads),
		CASE_NEEDS_IF(a_watched_stack_works_with_an_alternate_one, 0,
			      lacks_native_run),
		CASE_NEEDS_IF(a_storm_of_profiling_signals_breaks_nothing, 0,
			      lacks_untouched_threads),
	};

	return RUN_CASES("fault_stacks", cases);
}
