/* SPDX-License-Identifier: MIT */
/* live_calls.c: no call changes errno, the signal mask or the handlers. */
#include "support_live.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOTH  (WTRACK_GET | WTRACK_CLEAR)
#define ERRNO 4711

/* A mask that no call could leave by accident. */
static sigset_t odd_mask(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGRTMIN + 3);
	return set;
}

static int masks_differ(const sigset_t *a, const sigset_t *b)
{
	for (int i = 1; i < NSIG; i++)
		if (sigismember(a, i) != sigismember(b, i))
			return i;
	return 0;
}

static void (*segv_handler(void))(int)
{
	struct sigaction sa;

	sigaction(SIGSEGV, NULL, &sa);
	return sa.sa_handler;
}

/* Around each call. */
static struct {
	sigset_t mask;
	void (*handler)(int);
} before;

static void set_traps(void)
{
	before.mask = odd_mask();
	before.handler = segv_handler();
	assert_int_equal(sigprocmask(SIG_SETMASK, &before.mask, NULL), 0);
	errno = ERRNO;
}

static void look_at_traps(void)
{
	int error = errno;
	sigset_t now, none;

	sigprocmask(SIG_SETMASK, NULL, &now);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	assert_int_equal(error, ERRNO);
	assert_int_equal(masks_differ(&before.mask, &now), 0);
	assert_ptr_equal(before.handler, segv_handler());
}

#define QUIETLY(call)            \
	do {                     \
		set_traps();     \
		call;            \
		look_at_traps(); \
	} while (0)

#define SUCCEEDS(call) QUIETLY(assert_int_equal(call, 0))

static void give_and_take(struct wtrack *t, const struct mem *m)
{
	struct wtrack_run runs[4];
	struct wtrack_info info = { .size = sizeof(info) };
	struct wtrack_stats stats = { .size = sizeof(stats) };
	struct wtrack_range_info range = { .size = sizeof(range) };

	SUCCEEDS(wtrack_watch(t, m->base, 8 * m->page, 0));
	SUCCEEDS(wtrack_watch(t, page_of(m, 8), 4 * m->page,
			      WTRACK_WATCH_DIRTY));
	QUIETLY(store(m, 1));
	QUIETLY(store(m, 9));
	QUIETLY(wtrack_collect(t, NULL, runs, 1, WTRACK_GET));
	QUIETLY(wtrack_collect(t, NULL, runs, 4, BOTH));
	QUIETLY(wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR));
	SUCCEEDS(wtrack_mark(t, page_of(m, 2), 1));
	SUCCEEDS(wtrack_prepare_write(t, page_of(m, 3), 3 * m->page));
	SUCCEEDS(wtrack_query(t, page_of(m, 3), NULL));
	SUCCEEDS(wtrack_query(t, page_of(m, 3), &range));
	QUIETLY(wtrack_query(t, page_of(m, 20), &range));
	SUCCEEDS(wtrack_info(t, &info));
	SUCCEEDS(wtrack_stats(t, &stats));
	SUCCEEDS(wtrack_unwatch(t, page_of(m, 2), 7 * m->page));
}

static void good_calls_leave_no_trace(void **state)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct mem m = mem_map(MEM_ANON, 32, true);
	struct wtrack_snapshot *s = NULL;
	struct wtrack *t = NULL;
	struct wtrack_run run;

	options.backend = *state;
	QUIETLY(wtrack_open(&options, &t));
	assert_non_null(t);
	give_and_take(t, &m);
	QUIETLY(wtrack_snapshot(t, &s));
	QUIETLY(wtrack_snapshot_next(s, &run));
	QUIETLY(wtrack_snapshot_rewind(s));
	QUIETLY(wtrack_snapshot_contains(s, m.base));
	QUIETLY(wtrack_snapshot_pages(s));
	QUIETLY(wtrack_snapshot(t, &s));
	QUIETLY(wtrack_snapshot_free(s));
	QUIETLY(wtrack_close(t));
	mem_unmap(&m);
}

static void failing_calls_leave_no_trace(void **state)
{
	struct mem m = mem_map(MEM_ANON, 32, true);
	struct wtrack *t = open_on(*state), *none = NULL;
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct wtrack_run run;

	options.backend = "no such thing";
	QUIETLY(assert_int_equal(wtrack_open(&options, &none), -EINVAL));
	QUIETLY(wtrack_watch(t, m.base + 1, m.page, 0));
	assert_int_equal(munmap(page_of(&m, 30), m.page), 0);
	QUIETLY(assert_int_equal(
		wtrack_watch(t, page_of(&m, 28), 4 * m.page, 0), -ENOMEM));
	QUIETLY(wtrack_unwatch(t, m.base, m.page));
	QUIETLY(wtrack_collect(t, NULL, &run, 1, 0));
	QUIETLY(wtrack_mark(t, m.base, 1));
	QUIETLY(wtrack_query(NULL, m.base, NULL));
	QUIETLY(wtrack_snapshot(NULL, NULL));
	wtrack_close(t);
	munmap(m.base, 30 * m.page);
	munmap(page_of(&m, 31), m.page);
}

/* Errors of the kernel that are met and survived on the way. */
static void a_lost_mapping_leaves_no_trace(void **state)
{
	struct mem m = mem_map(MEM_ANON, 8, true);
	struct wtrack *t = open_on(*state);
	struct wtrack_range_info range = { .size = sizeof(range) };
	struct wtrack_run runs[8];

	watch_pages(t, &m, 0, 8, 0);
	assert_int_equal(munmap(page_of(&m, 2), 2 * m.page), 0);
	QUIETLY(wtrack_collect(t, NULL, runs, 8, WTRACK_GET));
	QUIETLY(wtrack_collect(t, NULL, runs, 8, BOTH));
	QUIETLY(wtrack_query(t, page_of(&m, 2), &range));
	QUIETLY(wtrack_mark(t, page_of(&m, 1), 3 * m.page));
	QUIETLY(wtrack_unwatch(t, m.base, 8 * m.page));
	QUIETLY(wtrack_close(t));
	munmap(m.base, 2 * m.page);
	munmap(page_of(&m, 4), 4 * m.page);
}

static void first_calls(void *backend)
{
	struct wtrack *t = open_on(backend);
	struct mem m = mem_map(MEM_ANON, 32, true);
	struct wtrack_snapshot *s = NULL;

	watch_pages(t, &m, 16, 8, 0);
	store(&m, 17);
	for (int call = 0; call < 4; call++) {
		int status;
		pid_t child = fork();

		if (child) {
			CHECK(waitpid(child, &status, 0) == child);
			CHECK(status == 0);
			continue;
		}
		if (call == 0)
			QUIETLY(wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR));
		else if (call == 1)
			QUIETLY(wtrack_snapshot(t, &s));
		else if (call == 2)
			QUIETLY(wtrack_close(t));
		else
			give_and_take(t, &m);
		_exit(0);
	}
}

/* The first call in a forked child opens everything again. */
static void the_first_call_in_a_child_leaves_no_trace(void **state)
{
	assert_child_passes(first_calls, *state);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(good_calls_leave_no_trace),
		CASE_EACH(failing_calls_leave_no_trace),
		CASE_EACH(a_lost_mapping_leaves_no_trace),
		CASE_EACH(the_first_call_in_a_child_leaves_no_trace),
	};

	return RUN_CASES("calls", cases);
}
