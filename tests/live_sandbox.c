/* SPDX-License-Identifier: MIT */
/*
 * live_sandbox.c: seccomp filters hide the ways into the kernel, one by one and
 * together, with every errno that filters use.
 *
 * moby/moby#42871, SELinuxProject/selinux-kernel#48: profiles answer EPERM
 * where a kernel would say ENOSYS.  unit_doors.c plays more such scenes, by
 * replacing the library's kernel entries; here the kernel itself refuses,
 * liburcu and libc included.  A backend is tried once per process, so each
 * scene is a process: `live_sandbox NUMBER,ERRNO`.
 */
#include "support_sandbox.h"

#include "engine.h"
#include "sys.h"
#include "uapi.h"

#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum what {
	DEVICE = 1, /* the request to its node */
	SYSCALL = 2,
	API = 4,
	REGISTER = 8,
	WRITEPROTECT = 16,
	SCAN = 32,
	QUERY = 64,
	MPROTECT = 128, /* to take the write permission away */
	MEMBARRIER = 256,
	ADVICE = 512,
	PIPE = 1024,
};

/* A call is refused if this argument is this value; arg -1: always. */
static const struct refusal {
	enum what what;
	int nr;
	int arg;
	unsigned long value;
} refusals[] = {
	{ DEVICE, SCMP_SYS(ioctl), 1, WT_USERFAULTFD_IOC_NEW },
	{ SYSCALL, SCMP_SYS(userfaultfd), -1, 0 },
	{ API, SCMP_SYS(ioctl), 1, WT_UFFDIO_API },
	{ REGISTER, SCMP_SYS(ioctl), 1, WT_UFFDIO_REGISTER },
	{ WRITEPROTECT, SCMP_SYS(ioctl), 1, WT_UFFDIO_WRITEPROTECT },
	{ SCAN, SCMP_SYS(ioctl), 1, WT_PAGEMAP_SCAN },
	{ QUERY, SCMP_SYS(ioctl), 1, WT_PROCMAP_QUERY },
	/* Only this: libc makes the stacks of threads writable. */
	{ MPROTECT, SCMP_SYS(mprotect), 2, PROT_READ },
	{ MEMBARRIER, SCMP_SYS(membarrier), -1, 0 },
	{ ADVICE, SCMP_SYS(madvise), 2, MADV_NOHUGEPAGE },
	{ PIPE, SCMP_SYS(pipe2), -1, 0 },
};

static const struct scene {
	const char *backend;
	unsigned hidden;
} scenes[] = {
	{ BEST_OF_ALL, 0 },
	/* What there is another way for. */
	{ BEST_OF_ALL, DEVICE },
	{ BEST_OF_ALL, SYSCALL },
	{ BEST_OF_ALL, QUERY },
	{ BEST_OF_ALL, MPROTECT },
	{ BEST_OF_ALL, MEMBARRIER },
	{ BEST_OF_ALL, ADVICE },
	{ BEST_OF_ALL, PIPE },
	{ BEST_OF_ALL, DEVICE | QUERY | MPROTECT | MEMBARRIER | ADVICE | PIPE },
	/* A part of scan. */
	{ WITHOUT_SCAN, SCAN },
	{ WITHOUT_SCAN, SCAN | MPROTECT },
	{ WITHOUT_SCAN, SCAN | SYSCALL | QUERY | MEMBARRIER | PIPE },
	/* userfaultfd as a whole, by one way or another. */
	{ WITHOUT_UFFD, DEVICE | SYSCALL },
	{ WITHOUT_UFFD, API },
	{ WITHOUT_UFFD, REGISTER },
	{ WITHOUT_UFFD, WRITEPROTECT },
	{ WITHOUT_UFFD, DEVICE | SYSCALL | SCAN },
	{ WITHOUT_UFFD, DEVICE | SYSCALL | QUERY | MEMBARRIER | ADVICE | PIPE },
	/* And what mprotect needs. */
	{ WITHOUT_ANY, DEVICE | SYSCALL | MPROTECT },
	{ WITHOUT_ANY, ~0u },
};

#define N_SCENES (sizeof(scenes) / sizeof(scenes[0]))

/* ---- in the process ---- */

static void hide(unsigned hidden, int error)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	assert_non_null(filter);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		struct scmp_arg_cmp arg = { (unsigned)r->arg,
					    SCMP_CMP_MASKED_EQ, 0xffffffff,
					    r->value };

		if (hidden & r->what)
			assert_int_equal(
				seccomp_rule_add_array(
					filter, SCMP_ACT_ERRNO((unsigned)error),
					r->nr, r->arg >= 0, &arg),
				0);
	}
	assert_int_equal(seccomp_load(filter), 0);
	seccomp_release(filter);
}

static void play(size_t number, int error)
{
	const struct scene *s = &scenes[number];
	struct wtrack_info info;
	struct wtrack *t;

	unsetenv("WTRACK_BACKEND");
	hide(s->hidden, error);
	t = open_in_sandbox(s->backend, &info);
	assert_int_equal(info.door_pagemap, 0);
	if ((s->hidden & (DEVICE | SYSCALL)) == (DEVICE | SYSCALL)) {
		assert_int_equal(info.door_device, -error);
		assert_int_equal(info.door_syscall, -error);
		assert_int_equal(info.door_user, -error);
	}
	assert_nothing_lost(t);
	wtrack_close(t);
}

/* ---- an unwatch that waits for a reader ---- */

/* Looks; more than are made before liburcu is asked. */
#define LONG_ENOUGH 3000

static int entered, looks;

static bool count_looks(enum wt_sys id, const long args[6], long *result)
{
	(void)args;
	*result = 0;
	if (id == WT_SYS_YIELD)
		__atomic_fetch_add(&looks, 1, __ATOMIC_ACQ_REL);
	return id == WT_SYS_YIELD;
}

static void *read_for_long(void *arg)
{
	wt_read_enter();
	__atomic_store_n(&entered, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&looks, __ATOMIC_ACQUIRE) < LONG_ENOUGH)
		sched_yield();
	wt_read_leave();
	return arg;
}

/* liburcu found membarrier(2) when it was loaded, and aborts without it. */
static void an_unwatch_waits_without_membarrier(void **state)
{
	struct wtrack *t = open_on(*state);
	char *pages = map_watched(t, 8);
	pthread_t thread;

	hide(MEMBARRIER, EPERM);
	at_the_door(count_looks);
	assert_int_equal(pthread_create(&thread, NULL, read_for_long, NULL), 0);
	while (!__atomic_load_n(&entered, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_returns(0, wtrack_unwatch(t, pages, 4 * page_size()));
	assert_true(__atomic_load_n(&looks, __ATOMIC_ACQUIRE) >= LONG_ENOUGH);
	assert_int_equal(pthread_join(thread, NULL), 0);
	at_the_door(NULL);
	wtrack_close(t);
}

/* ---- the cases ---- */

static const char *lacks_sandbox(void)
{
	if (prctl(PR_GET_SECCOMP) < 0)
		return "the kernel has no filters";
	if (access("/dev/userfaultfd", R_OK | W_OK))
		return "/dev/userfaultfd cannot be opened";
	return lacks_scan();
}

static void play_with(int error)
{
	for (size_t i = 0; i < N_SCENES; i++) {
		char argument[32];

		snprintf(argument, sizeof(argument), "%zu,%d", i, error);
		if (run_self(argument))
			fail_msg("scene %zu", i);
	}
}

#define HIDDEN_WITH(error)                                     \
	static void ways_are_hidden_with_##error(void **state) \
	{                                                      \
		(void)state;                                   \
		play_with(error);                              \
	}

HIDDEN_WITH(EPERM)
HIDDEN_WITH(ENOSYS)
HIDDEN_WITH(EINVAL)
HIDDEN_WITH(ENOTTY)

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_IF(ways_are_hidden_with_EPERM, lacks_sandbox),
		CASE_IF(ways_are_hidden_with_ENOSYS, lacks_sandbox),
		CASE_IF(ways_are_hidden_with_EINVAL, lacks_sandbox),
		CASE_IF(ways_are_hidden_with_ENOTTY, lacks_sandbox),
		CASE_FRESH_EACH(an_unwatch_waits_without_membarrier),
	};
	size_t number;
	int error;

	if (argc > 1 && sscanf(argv[1], "%zu,%d", &number, &error) == 2) {
		play(number, error);
		fflush(NULL);
		_exit(0);
	}
	return RUN_FRESH_OR_ALL("sandbox", cases, argc, argv);
}
