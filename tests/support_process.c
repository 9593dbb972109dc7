/* SPDX-License-Identifier: MIT */
/* support_process.c: children, the program anew, and what leaks. */
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that hangs is killed before its parent is. */
#define SECONDS 150

static pid_t child_of; /* the program, in a child of it; else 0 */

int run_in_child(void (*f)(void *), void *arg)
{
	int status = -1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		child_of = getppid();
		alarm(SECONDS);
		f(arg);
		_exit(0);
	}
	assert_true(child > 0);
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return status;
}

int run_self(const char *argument)
{
	int status = -1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		alarm(SECONDS);
		execl("/proc/self/exe", program_invocation_name, argument,
		      (char *)NULL);
		_exit(127);
	}
	assert_true(child > 0);
	while (waitpid(child, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return status;
}

void assert_child_passes(void (*f)(void *), void *arg)
{
	int status = run_in_child(f, arg);

	assert_false(WIFSIGNALED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

void assert_child_killed_by(int signal, void (*f)(void *), void *arg)
{
	int status = run_in_child(f, arg);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), signal);
}

void check_at(bool ok, const char *what, const char *file, int line)
{
	char text[256];
	int n;

	if (ok)
		return;
	n = snprintf(text, sizeof(text), "# %s:%d: not so: %s\n", file, line,
		     what);
	n = n < (int)sizeof(text) ? n : (int)sizeof(text) - 1;
	n = (int)write(STDERR_FILENO, text, (size_t)n);
	(void)n;
	if (child_of)
		_exit(1);
	fail();
}

static size_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

struct usage usage_now(void)
{
	struct usage u = { count_fds(), 0 };
	char text[64] = { 0 };
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	u.mapped_pages = strtoul(text, NULL, 10);
	return u;
}

void await_end_of_threads(void)
{
	struct stat st;

	for (int i = 0; i < 1000; i++) {
		assert_int_equal(stat("/proc/self/task", &st), 0);
		if (st.st_nlink == 3)
			return;
		usleep(1000);
	}
}
