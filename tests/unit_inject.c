/* SPDX-License-Identifier: MIT */
/*
 * unit_inject.c: WTRACK_FAIL fails what it names, when it says, and no more.
 *
 * Programs that were given privileges ignore it: bug_privilege.c.
 */
#include "support.h"

#include "inject.h"
#include "sys.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool open_works(void)
{
	int fd = wt_sys_open("/dev/null", O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int pipe_result(void)
{
	int fds[2], rc = wt_sys_pipe(fds);

	if (!rc) {
		close(fds[0]);
		close(fds[1]);
	}
	return rc;
}

static void inject_nothing(void)
{
	assert_int_equal(wt_inject(""), 0);
	assert_null(wt_sys_hook);
}

/* ---- the value ---- */

static void the_result_is_the_errno_by_name_or_number(void **state)
{
	(void)state;
	assert_int_equal(wt_inject("pipe:EMFILE"), 0);
	assert_returns(-EMFILE, pipe_result());
	assert_int_equal(wt_inject("pipe:ENFILE@1,pipe:1@2,pipe:4095"), 0);
	assert_returns(-ENFILE, pipe_result());
	assert_returns(-1, pipe_result());
	assert_returns(-4095, pipe_result());
	inject_nothing();
}

static void several_rules_count_for_themselves(void **state)
{
	static const bool opens[] = { true, false, true, false, true };

	(void)state;
	assert_int_equal(wt_inject("open:EIO@2,pipe:EIO@1,open:EIO@4"), 0);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(open_works(), opens[i]);
		assert_int_equal(!pipe_result(), i != 0);
	}
	inject_nothing();
}

static void a_malformed_value_is_invalid_and_fails_nothing(void **state)
{
	static const char *const bad[] = {
		"ioctl",
		"ioctl:",
		"ioctl:EPERM@",
		":EPERM",
		"ioctl:EPERM@0",
		"ioctl:EPERM@-1",
		"ioctl:EPERM@1x",
		"ioctl:EPERM@+",
		"ioctl:EPERM@1++",
		"ioctl:EPERM,",
		",ioctl:EPERM",
		"ioctl:EPERM,,open:EIO",
		"IOCTL:EPERM",
		"ioctl:eperm",
		"ioctl:ENONE",
		"ioctl:0",
		"ioctl:4096",
		"ioctl:-1",
		"ioctl:1EPERM",
		"ioctls:EPERM",
		"ioct:EPERM",
		" ioctl:EPERM",
		"ioctl:EPERM ",
		"ioctl:EPERM@99999999999999999999",
		"ioctl=EPERM",
		"ioctl:EPERM;open:EIO",
		"1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (wt_inject(bad[i]) != -EINVAL)
			fail_msg("accepted: '%s'", bad[i]);
		assert_null(wt_sys_hook);
		assert_true(open_works());
	}
	inject_nothing();
}

static void there_is_room_for_sixteen(void **state)
{
	char text[17 * 16] = "open:EIO@7";

	(void)state;
	for (int n = 1; n < 16; n++)
		strcat(text, ",open:EIO@7");
	assert_int_equal(wt_inject(text), 0);
	strcat(text, ",open:EIO@7");
	assert_int_equal(wt_inject(text), -EINVAL);
	inject_nothing();
}

/* ---- from outside ---- */

static void open_refuses_a_malformed_value_each_time(void **state)
{
	struct wtrack_probe p = { .size = sizeof(p) };
	struct wtrack *t = NULL;

	(void)state;
	setenv("WTRACK_FAIL", "nonsense", 1);
	assert_returns(-EINVAL, wtrack_open(NULL, &t));
	unsetenv("WTRACK_FAIL");
	assert_returns(-EINVAL, wtrack_open(NULL, &t));
	assert_returns(-EINVAL, wtrack_probe(&p));
	assert_null(t);
}

static void an_empty_value_is_none(void **state)
{
	struct wtrack *t = NULL;

	(void)state;
	setenv("WTRACK_FAIL", "", 1);
	assert_returns(0, wtrack_open(NULL, &t));
	assert_null(wt_sys_hook);
}

static void the_first_open_reads_it_and_later_ones_do_not(void **state)
{
	struct wtrack *t = NULL;

	(void)state;
	setenv("WTRACK_FAIL", "mmap:ENOMEM@1", 1);
	assert_returns(-ENOMEM, wtrack_open(NULL, &t));
	setenv("WTRACK_FAIL", "mmap:ENOMEM", 1);
	assert_returns(0, wtrack_open(NULL, &t));
}

static void a_program_sees_its_fallback(void **state)
{
	struct wtrack_info i = { .size = sizeof(i) };
	struct wtrack *t = NULL;

	(void)state;
	setenv("WTRACK_FAIL", "open:EACCES,userfaultfd:EPERM", 1);
	assert_returns(0, wtrack_open(NULL, &t));
	assert_int_equal(wtrack_info(t, &i), 0);
	assert_string_not_equal(i.backend, "scan");
	assert_int_equal(i.door_device, -EACCES);
	assert_int_equal(i.door_syscall, -EPERM);
	assert_int_equal(i.door_user, -EPERM);
	assert_int_equal(i.door_pagemap, -EACCES);
}

static void a_probe_without_memory_says_so(void **state)
{
	struct wtrack_probe p = { .size = sizeof(p) };

	(void)state;
	setenv("WTRACK_FAIL", "mmap:ENOMEM@1", 1);
	assert_returns(-ENOMEM, wtrack_probe(&p));
	assert_returns(0, wtrack_probe(&p));
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE(the_result_is_the_errno_by_name_or_number),
		CASE(several_rules_count_for_themselves),
		CASE(a_malformed_value_is_invalid_and_fails_nothing),
		CASE(there_is_room_for_sixteen),
		CASE_FRESH(open_refuses_a_malformed_value_each_time, NULL),
		CASE_FRESH(an_empty_value_is_none, NULL),
		CASE_FRESH(the_first_open_reads_it_and_later_ones_do_not, NULL),
		CASE_FRESH(a_program_sees_its_fallback, NULL),
		CASE_FRESH(a_probe_without_memory_says_so, NULL),
	};

	return RUN_FRESH_OR_ALL("inject", cases, argc, argv);
}
