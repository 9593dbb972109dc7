/* SPDX-License-Identifier: MIT */
/*
 * main.c: runs tests of the running kernel's write tracking, each in a process
 * of its own that has to end in time.
 *
 * Prints `ok NAME`, `not ok NAME - WHY` or `skip NAME - WHY` for each, and at
 * last the three numbers.  Exits with 1 when a test failed, with 2 when it was
 * called wrongly.
 */
#include "ktest.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a test's process ends with. */
enum {
	PASSED,
	FAILED,
	SKIPPED
};

struct settings settings = { .seed = 1, .steps = 20000 };
int uffd = -1, pagemap = -1;
char context[128];
static const char *running;
static unsigned seconds = 240;

static const struct test *const suites[] = {
	hugetlb_tests,   gather_tests,        race_tests,    again_tests,
	protect_tests,   empty_tests,         sync_tests,    huge_tests,
	around_tests,    around_shared_tests, density_tests, bits_tests,
	bits_file_tests, resolve_tests,       folded_tests,  granted_tests,
	random_tests,
};

#define SUITES (sizeof(suites) / sizeof(suites[0]))

static void say(const char *verdict, const char *format, va_list args)
{
	printf("%s %s - %s", verdict, running, context);
	vprintf(format, args);
	printf("\n");
	fflush(stdout);
}

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("not ok", format, args);
	va_end(args);
	_exit(FAILED);
}

void skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("skip", format, args);
	va_end(args);
	_exit(SKIPPED);
}

static _Noreturn void run(const struct test *test)
{
	uffd = uffd_open(FEATURES_ASYNC);
	if (uffd < 0)
		skip("no asynchronous write protection: %s", strerror(errno));
	pagemap = pagemap_open();
	if (pagemap < 0)
		skip("no pagemap: %s", strerror(errno));
	test->run();
	printf("ok %s\n", test->name);
	fflush(stdout);
	_exit(PASSED);
}

/* Waits so long at most; whether it has ended. */
static bool wait_for(pid_t child, unsigned limit, int *status)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	time_t end = time(NULL) + (time_t)limit;
	pid_t ended;

	do {
		ended = waitpid(child, status, WNOHANG);
		if (ended == child)
			return true;
		nanosleep(&moment, NULL);
	} while (time(NULL) <= end);
	return false;
}

static int run_apart(const struct test *test)
{
	int status = 0;
	pid_t child;

	running = test->name;
	fflush(stdout);
	child = fork();
	if (child == 0)
		run(test);
	if (child < 0) {
		printf("not ok %s - fork: %s\n", running, strerror(errno));
		return FAILED;
	}
	if (!wait_for(child, seconds, &status)) {
		kill(child, SIGKILL);
		printf("not ok %s - did not end in %u s%s\n", running, seconds,
		       wait_for(child, 10, &status) ? ""
						    : ", and cannot be killed");
		return FAILED;
	}
	if (WIFSIGNALED(status)) {
		printf("not ok %s - %s\n", running,
		       strsignal(WTERMSIG(status)));
		return FAILED;
	}
	status = WEXITSTATUS(status);
	return status <= SKIPPED ? status : FAILED;
}

static bool wanted(const char *name, char *const *globs)
{
	if (!*globs)
		return true;
	for (; *globs; globs++)
		if (fnmatch(*globs, name, 0) == 0)
			return true;
	return false;
}

static void list(void)
{
	for (size_t i = 0; i < SUITES; i++)
		for (const struct test *t = suites[i]; t->name; t++)
			puts(t->name);
}

static _Noreturn void usage(const char *what, const char *argument)
{
	fprintf(stderr,
		"ktest: %s '%s'; usage: ktest [--list] [--fixed] [--seed N] "
		"[--steps N] [--seconds N] [NAME...]\n",
		what, argument ? argument : "");
	exit(2);
}

static unsigned long number(const char *option, const char *text)
{
	char *end;
	unsigned long value;

	if (!text || *text < '0' || *text > '9')
		usage("no number after", option);
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || !value)
		usage("no positive number:", text);
	return value;
}

/* Leaves the names of tests. */
static char **options(char **argv)
{
	for (; *argv && **argv == '-'; argv++) {
		if (strcmp(*argv, "--list") == 0) {
			list();
			exit(0);
		}
		if (strcmp(*argv, "--fixed") == 0) {
			settings.fixed = true;
			continue;
		}
		if (strcmp(*argv, "--seed") == 0)
			settings.seed = number(*argv, argv[1]);
		else if (strcmp(*argv, "--steps") == 0)
			settings.steps = number(*argv, argv[1]);
		else if (strcmp(*argv, "--seconds") == 0)
			seconds = (unsigned)number(*argv, argv[1]);
		else
			usage("unknown option", *argv);
		argv++;
	}
	return argv;
}

int main(int argc, char **argv)
{
	long huge = sysctl_get("uffd_wp_async_huge");
	long around = sysctl_get("uffd_wp_async_around");
	unsigned counts[3] = { 0 };
	char **globs = options(argv + 1);

	(void)argc;
	if (sysconf(_SC_PAGESIZE) != (long)PAGE) {
		fprintf(stderr,
			"ktest: its tests are made for pages of 4 KiB\n");
		return 2;
	}
	settings.coarse = huge > 0 || around > 1;
	printf("# ktest: %s kernel, seed %llu, uffd_wp_async_huge %ld, "
	       "uffd_wp_async_around %ld\n",
	       settings.fixed ? "fixed" : "stock",
	       (unsigned long long)settings.seed, huge, around);
	for (size_t i = 0; i < SUITES; i++)
		for (const struct test *t = suites[i]; t->name; t++) {
			if (!wanted(t->name, globs))
				continue;
			counts[run_apart(t)]++;
			/* A test that died could not put them back. */
			if (huge >= 0)
				sysctl_set("uffd_wp_async_huge", huge);
			if (around >= 0)
				sysctl_set("uffd_wp_async_around", around);
		}
	if (counts[PASSED] + counts[FAILED] + counts[SKIPPED] == 0)
		usage("no such test:", *globs);
	printf("%u passed, %u failed, %u skipped\n", counts[PASSED],
	       counts[FAILED], counts[SKIPPED]);
	return counts[FAILED] ? 1 : 0;
}
