/* SPDX-License-Identifier: MIT */
/* support.c: a case for each backend, and open handles. */
#include "support.h"

#include "sys.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 300

const char *const backend_names[N_BACKENDS] = {
	"scan", "async", "wp", "monitor", "softdirty", "mprotect", "all"
};

/* ---- cases ---- */

static pid_t program;
static const char *running; /* the backend of the case that runs */

void allow_more_seconds(unsigned seconds)
{
	alarm(SECONDS + seconds);
}

static int before_case(void **state)
{
	(void)state;
	alarm(SECONDS);
	return 0;
}

/*
 * cmocka puts handlers of its own over these for each case.  Faults belong to
 * the library; and a case that crashes ends the program, which says enough.
 */
static const int taken_signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS };

#define N_TAKEN (sizeof(taken_signals) / sizeof(taken_signals[0]))

static struct sigaction own_actions[N_TAKEN];

static void keep_actions(void)
{
	for (size_t i = 0; i < N_TAKEN; i++)
		sigaction(taken_signals[i], NULL, &own_actions[i]);
}

struct planned {
	const struct test_case *c;
	const char *backend;
	char name[];
};

static void check_fresh(const struct planned *planned)
{
	int status = run_self(planned->name);

	if (planned->c->killed_by) {
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), planned->c->killed_by);
	} else {
		assert_false(WIFSIGNALED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

void at_the_door(wt_sys_hook_fn *hook)
{
	/* A backend's thread may look at it in the meantime. */
	__atomic_store_n(&wt_sys_hook, hook, __ATOMIC_RELEASE);
}

static void run_planned(void **state)
{
	const struct planned *planned = *state;
	void *backend = (void *)(uintptr_t)planned->backend;

	/* The case before may have failed with it set. */
	at_the_door(NULL);
	for (size_t i = 0; i < N_TAKEN; i++)
		sigaction(taken_signals[i], &own_actions[i], NULL);
	running = planned->backend;
	/* [K-task-links] Those of the case before are counted until then. */
	if (runs_on("softdirty"))
		await_end_of_threads();
	if (planned->c->fresh)
		check_fresh(planned);
	else
		planned->c->run(&backend);
}

/* A failed assert in a child comes here too, and must go no further. */
static int after_case(void **state)
{
	(void)state;
	if (getpid() != program) {
		static const char text[] = "# an assert failed in a child\n";
		ssize_t told = write(STDERR_FILENO, text, sizeof(text) - 1);

		(void)told;
		_exit(1);
	}
	alarm(0);
	return 0;
}

static bool is_required(const char *backend)
{
	const char *required = getenv("WTRACK_REQUIRE_BACKENDS");
	size_t len = strlen(backend);

	for (const char *p = required; p && *p; p += strcspn(p, " ,")) {
		p += strspn(p, " ,");
		if (!strncmp(p, backend, len) && strcspn(p, " ,") == len)
			return true;
	}
	return false;
}

struct program {
	struct CMUnitTest *tests;
	size_t n;
	size_t cap;
	struct {
		int error;
		uint64_t caps;
		bool watches[MEM_KINDS];
	} backend[N_BACKENDS];
};

static void add(struct program *p, const struct test_case *c,
		const char *backend)
{
	size_t len = strlen(c->name) + (backend ? strlen(backend) : 0) + 3;
	struct planned *planned = malloc(sizeof(*planned) + len);
	struct CMUnitTest *test;

	if (p->n == p->cap) {
		p->cap = 2 * p->cap + 16;
		p->tests = realloc(p->tests, p->cap * sizeof(*p->tests));
	}
	if (!planned || !p->tests)
		abort();
	planned->c = c;
	planned->backend = backend;
	snprintf(planned->name, len, backend ? "%s[%s]" : "%s", c->name,
		 backend);
	test = &p->tests[p->n++];
	memset(test, 0, sizeof(*test));
	test->name = planned->name;
	test->test_func = run_planned;
	test->setup_func = before_case;
	test->teardown_func = after_case;
	test->initial_state = planned;
}

static void add_for_backends(struct program *p, const struct test_case *c)
{
	for (size_t b = 0; b < N_BACKENDS; b++) {
		if (p->backend[b].error)
			printf("# %s[%s] left out: no such backend here: %s\n",
			       c->name, backend_names[b],
			       strerror(-p->backend[b].error));
		else if (c->needs & ~p->backend[b].caps)
			printf("# %s[%s] left out: not promised there\n",
			       c->name, backend_names[b]);
		else if (!p->backend[b].watches[c->kind])
			printf("# %s[%s] left out: such memory is refused\n",
			       c->name, backend_names[b]);
		else
			add(p, c, backend_names[b]);
	}
}

/*
 * valgrind runs one thread at a time, also if that waits for another.  And
 * sanitizers do not follow a process that forks beside a thread, or its child,
 * which must start another while their own locks are as they were; nor one
 * whose kernel entries are replaced meanwhile.
 */
static bool left_out(const char *backend)
{
	return !strcmp(backend, "monitor") &&
	       (under_valgrind() || (lacks_native_run() && !&only_threads));
}

static int look_at_backends(struct program *p)
{
	int rc = 0;

	for (size_t b = 0; b < N_BACKENDS; b++) {
		if (left_out(backend_names[b])) {
			p->backend[b].error = -EOPNOTSUPP;
			continue;
		}
		p->backend[b].error = backend_error(backend_names[b]);
		if (!p->backend[b].error) {
			struct wtrack *t = open_on(backend_names[b]);

			p->backend[b].caps = caps_of(t);
			for (int kind = 0; kind < MEM_KINDS; kind++)
				p->backend[b].watches[kind] =
					watches_kind(t, (enum mem_kind)kind);
			wtrack_close(t);
		} else if (is_required(backend_names[b])) {
			printf("Bail out! backend %s is required: %s\n",
			       backend_names[b],
			       strerror(-p->backend[b].error));
			rc = 1;
		}
	}
	return rc;
}

int run_cases(const char *group, const struct test_case *cases, size_t n)
{
	struct program p = { 0 };
	int rc;

	program = getpid();
	setvbuf(stdout, NULL, _IOLBF, 0);
	unsetenv("WTRACK_BACKEND");
	if (look_at_backends(&p))
		return 1;
	for (size_t i = 0; i < n; i++) {
		const char *why = cases[i].lacks ? cases[i].lacks() : NULL;

		if (why)
			printf("# %s left out: %s\n", cases[i].name, why);
		else if (cases[i].each_backend)
			add_for_backends(&p, &cases[i]);
		else
			add(&p, &cases[i], NULL);
	}
	if (!p.n) {
		printf("1..0 # SKIP nothing of %s can run here\n", group);
		return 0;
	}
	keep_actions();
	rc = _cmocka_run_group_tests(group, p.tests, p.n, NULL, NULL);
	for (size_t i = 0; i < p.n; i++)
		free(p.tests[i].initial_state);
	free(p.tests);
	return rc;
}

int run_fresh_or_all(const char *group, const struct test_case *cases, size_t n,
		     const char *fresh)
{
	size_t len = fresh ? strcspn(fresh, "[") : 0;

	if (!fresh)
		return run_cases(group, cases, n);
	unsetenv("WTRACK_BACKEND");
	/* A sanitizer has put handlers of its own there. */
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	for (size_t i = 0; i < n; i++)
		for (size_t b = 0; b < N_BACKENDS; b++) {
			void *backend = (void *)(uintptr_t)backend_names[b];

			if (strncmp(cases[i].name, fresh, len) != 0 ||
			    cases[i].name[len] ||
			    (fresh[len] && !strstr(fresh + len, backend)))
				continue;
			running = backend;
			cases[i].run(&backend);
			/* A leak is no matter here; it may be killed, too. */
			fflush(NULL);
			_exit(0);
		}
	return 127;
}

/* ---- backends ---- */

bool runs_on(const char *backend)
{
	return running && !strcmp(running, backend);
}

static int try_open(const char *backend, struct wtrack **t)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;

	options.backend = backend;
	return wtrack_open(&options, t);
}

int backend_error(const char *backend)
{
	struct wtrack *t = NULL;
	int rc = left_out(backend) ? -EOPNOTSUPP : try_open(backend, &t);

	if (!rc)
		wtrack_close(t);
	return rc;
}

struct wtrack *open_on(const char *backend)
{
	struct wtrack *t = NULL;

	assert_int_equal(try_open(backend, &t), 0);
	assert_non_null(t);
	return t;
}

uint64_t caps_of(struct wtrack *t)
{
	struct wtrack_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_info(t, &info), 0);
	return info.caps;
}

struct wtrack_stats stats_of(struct wtrack *t)
{
	struct wtrack_stats stats = { .size = sizeof(stats) };

	assert_int_equal(wtrack_stats(t, &stats), 0);
	return stats;
}
