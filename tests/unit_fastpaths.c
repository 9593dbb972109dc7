/* SPDX-License-Identifier: MIT */
/*
 * unit_fastpaths.c: a question about a fast path harms nobody, whatever becomes
 * of it, and no count of faults is read for more than it tells.
 */
#include "fastpaths_stage.h"
#include "support.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fast_answer ask(void (*question)(const struct wtrack_probe *p))
{
	const struct fast_path path = { "test", "of nothing", question };
	const struct wtrack_probe p = { .size = sizeof(p) };

	return fast_path_ask(&path, &p);
}

static void assert_answer(struct fast_answer a, int works, const char *told)
{
	assert_int_equal(a.works, works);
	assert_string_equal(a.told, told);
}

/* ---- what is answered ---- */

static void say_yes(const struct wtrack_probe *p)
{
	(void)p;
	answer(true, "%d of %d", 3, 4);
}

static void say_no(const struct wtrack_probe *p)
{
	(void)p;
	answer(false, "none");
}

static void say_unknown(const struct wtrack_probe *p)
{
	(void)p;
	answer_unknown("no %s", "idea");
}

static void say_refused(const struct wtrack_probe *p)
{
	(void)p;
	answer_refused("mseal", -38);
}

static void say_much(const struct wtrack_probe *p)
{
	(void)p;
	answer(true, "%0200d", 0);
}

static void answers_arrive(void **state)
{
	(void)state;
	assert_answer(ask(say_yes), 1, "3 of 4");
	assert_answer(ask(say_no), 0, "none");
	assert_answer(ask(say_unknown), FAST_UNKNOWN, "no idea");
	assert_int_equal(ask(say_refused).works, FAST_UNKNOWN);
	assert_non_null(strstr(ask(say_refused).told, "mseal: "));
	assert_int_equal(strlen(ask(say_much).told),
			 sizeof(((struct fast_answer *)0)->told) - 1);
}

/* The door's error is told as the reason, and nothing is tried. */
static void needs_userfaultfd(const struct wtrack_probe *p)
{
	struct wtrack_probe closed = *p;

	closed.door_user = -EPERM;
	closed.door_syscall = -EACCES;
	closed.door_device = -ENOENT;
	uffd_async(&closed);
	_exit(0);
}

static void needs_pagemap(const struct wtrack_probe *p)
{
	struct wtrack_probe closed = *p;

	closed.door_pagemap = -EACCES;
	pagemap_open(&closed);
	_exit(0);
}

static void closed_doors_are_reasons(void **state)
{
	(void)state;
	assert_int_equal(ask(needs_userfaultfd).works, FAST_UNKNOWN);
	assert_non_null(strstr(ask(needs_userfaultfd).told, "userfaultfd: "));
	assert_int_equal(ask(needs_pagemap).works, FAST_UNKNOWN);
	assert_non_null(
		strstr(ask(needs_pagemap).told, "/proc/self/pagemap: "));
}

/* ---- what goes wrong ---- */

static void crash(const struct wtrack_probe *p)
{
	(void)p;
	raise(SIGSEGV);
}

static void be_killed(const struct wtrack_probe *p)
{
	(void)p;
	raise(SIGKILL);
}

static void hang(const struct wtrack_probe *p)
{
	(void)p;
	for (;;)
		pause();
}

static void say_nothing(const struct wtrack_probe *p)
{
	(void)p;
}

static void assert_no_answer(struct fast_answer a, const char *why)
{
	assert_int_equal(a.works, FAST_UNKNOWN);
	assert_non_null(strstr(a.told, why));
}

static void failures_are_unknown(void **state)
{
	unsigned deadline = fast_path_deadline;

	(void)state;
	assert_no_answer(ask(crash), strsignal(SIGSEGV));
	assert_no_answer(ask(be_killed), strsignal(SIGKILL));
	assert_no_answer(ask(say_nothing), "without an answer");
	fast_path_deadline = 1;
	assert_no_answer(ask(hang), "too long");
	fast_path_deadline = deadline;
	/* No child is left behind. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static int signals;

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

/* Neither the program's handlers nor what it blocks or ignores matters. */
static void whoever_asks_may_handle_signals(void **state)
{
	struct sigaction old[3];
	static const int all[] = { SIGSEGV, SIGALRM, SIGCHLD };
	struct sigaction counted = { .sa_handler = count_signal };
	struct sigaction ignored = { .sa_handler = SIG_IGN };
	unsigned deadline = fast_path_deadline;
	sigset_t block, was;

	(void)state;
	sigemptyset(&block);
	for (int i = 0; i < 3; i++) {
		sigaction(all[i], all[i] == SIGCHLD ? &ignored : &counted,
			  &old[i]);
		sigaddset(&block, all[i]);
	}
	sigprocmask(SIG_BLOCK, &block, &was);
	fast_path_deadline = 1;
	assert_answer(ask(say_yes), 1, "3 of 4");
	assert_int_equal(ask(crash).works, FAST_UNKNOWN);
	assert_int_equal(ask(hang).works, FAST_UNKNOWN);
	fast_path_deadline = deadline;
	assert_int_equal(signals, 0);
	for (int i = 0; i < 3; i++)
		sigaction(all[i], &old[i], NULL);
	sigprocmask(SIG_SETMASK, &was, NULL);
}

static void leaves_no_core(const struct wtrack_probe *p)
{
	struct rlimit core;

	(void)p;
	getrlimit(RLIMIT_CORE, &core);
	answer(core.rlim_cur == 0, "core");
}

static void a_crash_leaves_no_core(void **state)
{
	struct rlimit old, some;

	(void)state;
	getrlimit(RLIMIT_CORE, &old);
	some = old;
	some.rlim_cur = old.rlim_max;
	/* Only root gets more than it was given. */
	if (!geteuid())
		some.rlim_cur = some.rlim_max = 4096;
	assert_int_equal(setrlimit(RLIMIT_CORE, &some), 0);
	assert_answer(ask(leaves_no_core), 1, "core");
	setrlimit(RLIMIT_CORE, &old);
}

static void nothing_is_left_behind(void **state)
{
	struct usage before, after;

	(void)state;
	ask(say_yes);
	before = usage_now();
	ask(say_yes);
	ask(crash);
	after = usage_now();
	assert_int_equal(after.fds, before.fds);
	assert_int_equal(after.mapped_pages, before.mapped_pages);
}

/* Root is not bound by the limit. */
static void be_nobody_without_processes(void *arg)
{
	const struct rlimit none = { 0, 0 };
	struct fast_answer a;

	(void)arg;
	CHECK(!setrlimit(RLIMIT_NPROC, &none) && !setuid(65534));
	a = ask(say_yes);
	CHECK(a.works == FAST_UNKNOWN);
	CHECK(strstr(a.told, "fork: ") == a.told);
}

static void no_process_is_unknown(void **state)
{
	(void)state;
	assert_child_passes(be_nobody_without_processes, NULL);
}

/* ---- counts of faults ---- */

static long given_faults;

static void judge(const struct wtrack_probe *p)
{
	static const struct fault_range range = { 16, 20, 32, 36 };

	(void)p;
	answer_faults(given_faults, 16, &range);
}

static int judged(long faults)
{
	given_faults = faults;
	return ask(judge).works;
}

static void counts_between_tell_nothing(void **state)
{
	(void)state;
	assert_int_equal(judged(15), FAST_UNKNOWN);
	assert_int_equal(judged(16), 1);
	assert_int_equal(judged(20), 1);
	assert_int_equal(judged(21), FAST_UNKNOWN);
	assert_int_equal(judged(31), FAST_UNKNOWN);
	assert_int_equal(judged(32), 0);
	assert_int_equal(judged(36), 0);
	assert_int_equal(judged(37), FAST_UNKNOWN);
}

static int round_number;

/* All rounds but the last but one are disturbed. */
static long disturbed_round(int uffd)
{
	static const long faults[] = { 40, 20, 30, 16, 18 };

	(void)uffd;
	return faults[round_number++];
}

static void the_least_disturbed_round_counts(void **state)
{
	(void)state;
	round_number = 0;
	assert_int_equal(least_faults(disturbed_round, -1), 16);
	assert_int_equal(round_number, 5);
}

static void stores_are_counted(void **state)
{
	char *mem = map_blocks(8 * page_bytes());
	long first = faults_of_stores(mem, 8, page_bytes());

	(void)state;
	assert_true(first >= 8);
	assert_true(faults_of_stores(mem, 8, page_bytes()) < first);
	assert_int_equal((uintptr_t)mem % block_bytes(), 0);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(mem[i * page_bytes()], 1);
}

int main(void)
{
	const struct test_case cases[] = {
		CASE(answers_arrive),
		CASE(closed_doors_are_reasons),
		CASE(failures_are_unknown),
		CASE(whoever_asks_may_handle_signals),
		CASE(a_crash_leaves_no_core),
		CASE(nothing_is_left_behind),
		CASE_IF(no_process_is_unknown, lacks_root),
		CASE(counts_between_tell_nothing),
		CASE(the_least_disturbed_round_counts),
		CASE(stores_are_counted),
	};

	return RUN_CASES("unit_fastpaths", cases);
}
