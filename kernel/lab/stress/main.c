/* SPDX-License-Identifier: MIT */
/*
 * main.c: runs all threads for some seconds, brings them to a standstill now
 * and then to compare, and says what was done.
 *
 * Exits with 1 when a store was lost or something was never done, with 2 when
 * it was called wrongly.
 */
#include "stress.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct settings settings = { .seconds = 10, .seed = 1 };
_Atomic uint64_t done[DEEDS];
int uffd, pagemap;

static const char *const deed_names[DEEDS] = {
	"stores",         "scans",
	"scans of parts", "scans, armed by UFFDIO_WRITEPROTECT",
	"pages reported", "forks",
	"mremaps",        "discards",
	"collapses",      "splits of huge pages",
	"pages to swap",  "mprotect flips",
	"un-armed parts", "standstills",
};

struct worker {
	deed_of *deed;
	bool often; /* without a pause */
	bool breaks;
};

static const struct worker workers[] = {
	{ .deed = store_burst, .often = true },
	{ .deed = store_burst, .often = true },
	{ .deed = scan_whole, .often = true },
	{ .deed = scan_part, .often = true },
	{ .deed = scan_then_arm },
	{ .deed = fork_child },
	{ .deed = move_some },
	{ .deed = discard_some },
	{ .deed = collapse_some },
	{ .deed = split_some },
	{ .deed = page_out_some },
	{ .deed = flip_some },
	{ .deed = unarm_some },
	{ .deed = arm_unreported, .breaks = true },
};

#define WORKERS (sizeof(workers) / sizeof(workers[0]))

/* Threads work while it is even, and say so when they stand still. */
static _Atomic unsigned phase, standing;
static _Atomic bool over;

void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("stress: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
	_exit(1);
}

/* Read-only for a moment: the store is tried again. */
static void on_segv(int signal)
{
	(void)signal;
	sched_yield();
}

static void stand_still(void)
{
	unsigned now = phase;

	if (now % 2 == 0)
		return;
	standing++;
	while (phase == now)
		usleep(200);
}

static uint64_t microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void *work(void *arg)
{
	const struct worker *me = arg;
	uint64_t start, pause;
	struct dice dice = { settings.seed * 1000 + (uint64_t)(me - workers) +
			     1 };

	while (!over) {
		start = microseconds();
		me->deed(&dice);
		/* On a slow machine the others would come to nothing else. */
		pause = 4 * (microseconds() - start) + roll(&dice, 3000);
		if (!me->often)
			usleep(pause < 900000 ? (useconds_t)pause : 900000);
		stand_still();
	}
	return NULL;
}

static size_t look(unsigned threads)
{
	size_t lost = 0;

	standing = 0;
	phase++;
	while (standing < threads)
		usleep(200);
	for (size_t i = 0; i < AREAS; i++) {
		scan_all(&areas[i]);
		lost += compare(&areas[i]);
	}
	done[STANDSTILLS]++;
	phase++;
	return lost;
}

static size_t run(void)
{
	time_t end = time(NULL) + (time_t)settings.seconds;
	pthread_t threads[WORKERS];
	unsigned n = 0;
	size_t lost = 0;

	for (size_t i = 0; i < WORKERS; i++) {
		if (workers[i].breaks && !settings.broken)
			continue;
		if (pthread_create(&threads[n], NULL, work,
				   (void *)(uintptr_t)&workers[i]) != 0)
			give_up("no thread: %s", strerror(errno));
		n++;
	}
	do {
		usleep(300000);
		lost += look(n);
	} while (time(NULL) < end && !lost);
	over = true;
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return lost;
}

static bool summary(void)
{
	bool all = true;

	for (size_t i = 0; i < DEEDS; i++) {
		printf("%12llu %s\n", (unsigned long long)done[i],
		       deed_names[i]);
		all = all && done[i] > 0;
	}
	return all;
}

static _Noreturn void usage(const char *what)
{
	fprintf(stderr,
		"stress: %s; usage: stress [--seconds N] [--seed N] "
		"[--break]\n",
		what);
	exit(2);
}

static uint64_t number(const char *text)
{
	unsigned long long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		usage("a number is missing");
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || !value || value > 1000000)
		usage("numbers are from 1 to 1000000");
	return value;
}

static void options(char **argv)
{
	for (argv++; *argv; argv++) {
		if (strcmp(*argv, "--break") == 0)
			settings.broken = true;
		else if (strcmp(*argv, "--seconds") == 0)
			settings.seconds = (unsigned)number(*++argv);
		else if (strcmp(*argv, "--seed") == 0)
			settings.seed = number(*++argv);
		else
			usage("an unknown option");
	}
}

int main(int argc, char **argv)
{
	size_t lost;
	bool all;

	(void)argc;
	options(argv);
	if (sysconf(_SC_PAGESIZE) != (long)PAGE)
		give_up("its areas are made for pages of 4 KiB");
	uffd = uffd_open(FEATURES_ASYNC);
	pagemap = pagemap_open();
	if (uffd < 0 || pagemap < 0)
		give_up("this kernel cannot track writes asynchronously: %s",
			strerror(errno));
	if (counter("/proc/meminfo", "SwapTotal") <= 0)
		give_up("no swap: switch some on, as with zram");
	make_areas();
	signal(SIGSEGV, on_segv);
	lost = run();
	all = summary();
	if (lost)
		printf("FAILED: %zu stores are lost, seed %llu\n", lost,
		       (unsigned long long)settings.seed);
	else if (!all)
		printf("FAILED: what is 0 above was never done\n");
	else
		printf("no store is lost\n");
	return lost || !all;
}
