/* SPDX-License-Identifier: MIT */
/*
 * live_sandbox_files.c: open with 0, 1, 2, ... descriptors left: an error or
 * another backend, as the header says, and nothing leaked.  [G3]
 */
#include "support_sandbox.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOST_FILES 64

/* The process can open so many files from now on, and no more. */
static void leave_descriptors(int n)
{
	struct rlimit limit;
	int fd, last[MOST_FILES], count = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = MOST_FILES;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while ((fd = dup(STDERR_FILENO)) >= 0)
		last[count++] = fd;
	assert_int_equal(errno, EMFILE);
	while (n--)
		close(last[--count]);
}

static void allow_descriptors(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static int open_named(const char *backend, struct wtrack **t)
{
	struct wtrack_options o = WTRACK_OPTIONS_INIT;

	o.backend = backend;
	return wtrack_open(&o, t);
}

static int free_descriptors(void)
{
	int fds[MOST_FILES], n = 0;

	while ((fds[n] = dup(STDERR_FILENO)) >= 0)
		n++;
	for (int i = 0; i < n; i++)
		close(fds[i]);
	return n;
}

/* What was found out with too few descriptors is not taken for the truth. */
static void assert_all_is_well_again(const char *backend, uint64_t caps)
{
	struct wtrack *t = NULL;

	allow_descriptors();
	assert_int_equal(open_named(backend, &t), 0);
	assert_int_equal(caps_of(t), caps);
	assert_nothing_lost(t);
	wtrack_close(t);
}

static void open_with_few(const char *backend, int n, uint64_t caps)
{
	struct wtrack *t = NULL;
	int rc;

	leave_descriptors(n);
	rc = open_named(backend, &t);
	if (rc) {
		assert_int_equal(rc, -EMFILE);
		assert_null(t);
	} else {
		assert_nothing_lost(t);
		wtrack_close(t);
	}
	assert_int_equal(free_descriptors(), n);
	/* Whatever there is, it is found, and it works. */
	assert_int_equal(wtrack_open(NULL, &t), 0);
	assert_nothing_lost(t);
	wtrack_close(t);
	assert_int_equal(free_descriptors(), n);
	assert_all_is_well_again(backend, caps);
}

/* More than any backend needs. */
#define ENOUGH 8

/* In new processes, in which nothing has been tried. */
static void open_copes_with_few_descriptors(void **state)
{
	struct wtrack *t = open_on(*state);
	unsigned long long caps = caps_of(t);

	wtrack_close(t);
	for (int n = ENOUGH; n >= 0; n--) {
		char argument[64];

		snprintf(argument, sizeof(argument), "few %d %llx %s", n, caps,
			 (const char *)*state);
		if (run_self(argument))
			fail_msg("with %d descriptors", n);
	}
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		/* assert_nothing_lost() clears beside writers. */
		CASE_NEEDS(open_copes_with_few_descriptors,
			   WTRACK_CAP_CONCURRENT),
	};
	unsigned long long caps;
	char backend[16];
	int n;

	if (argc > 1 &&
	    sscanf(argv[1], "few %d %llx %15s", &n, &caps, backend) == 3) {
		open_with_few(backend, n, caps);
		_exit(0);
	}
	return RUN_CASES("sandbox_files", cases);
}
