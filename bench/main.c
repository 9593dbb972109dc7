/* SPDX-License-Identifier: MIT */
/*
 * main.c: reads the command line and runs the chosen cases.
 *
 * Exit status: 0 when all was measured, whether or not a target was met;
 * 1 when something failed or a contender reported wrong pages; 2 for wrong
 * arguments.
 */
#include "bench.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct bench_case {
	const char *name;
	void (*run)(const struct bench *b);
} cases[] = {
	{ "collect", case_collect },   { "adjacent", case_adjacent },
	{ "gaps", case_gaps },         { "first-write", case_first_write },
	{ "watch", case_watch },       { "memory", case_memory },
	{ "few", case_few },           { "hot", case_hot },
	{ "backends", case_backends }, { "monitor", case_monitor },
	{ "threads", case_threads },   { "busy", case_busy },
	{ "parallel", case_parallel },
};

#define NCASES (sizeof(cases) / sizeof(cases[0]))

static void say(const char *fmt, va_list ap)
{
	fflush(stdout);
	fputs("wtrack-bench: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

_Noreturn void bench_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(1);
}

void bench_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 1, 2))) static _Noreturn void
bad_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	exit(2);
}

uint64_t bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void bench_keep_min(uint64_t *best, uint64_t ns)
{
	if (*best == 0 || ns < *best)
		*best = ns;
}

double laps_sum(const struct laps *laps)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < LAPS; i++)
		sum += laps->best[i];
	return (double)sum;
}

static void print_help(void)
{
	printf("Usage: wtrack-bench [--json] [--quick] [--only NAME]...\n"
	       "Measures libwtrack against other ways to track writes.\n\n"
	       "  --json       one JSON object per line, no table\n"
	       "  --quick      less memory: a check that it runs\n"
	       "  --exact      little memory, few rounds: where time counts\n"
	       "               instructions (see EXACT.md)\n"
	       "  --only NAME  this case only; may be repeated\n"
	       "  --help       this text\n\nCases:");
	for (size_t i = 0; i < NCASES; i++)
		printf(" %s", cases[i].name);
	printf("\n");
}

static size_t find_case(const char *name)
{
	for (size_t i = 0; i < NCASES; i++)
		if (strcmp(cases[i].name, name) == 0)
			return i;
	bad_usage("--only: there is no case '%s' (see --help)", name);
}

/* Fills *b and chosen[], and returns false if there is nothing to run. */
static bool parse(int argc, char **argv, struct bench *b, bool *chosen)
{
	bool any = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			b->json = true;
		} else if (strcmp(argv[i], "--quick") == 0) {
			b->quick = true;
		} else if (strcmp(argv[i], "--exact") == 0) {
			b->exact = true;
			b->rounds = 4;
		} else if (strcmp(argv[i], "--help") == 0) {
			print_help();
			return false;
		} else if (strcmp(argv[i], "--only") == 0) {
			if (i + 1 == argc)
				bad_usage("--only needs a name (see --help)");
			chosen[find_case(argv[++i])] = any = true;
		} else {
			bad_usage("unknown argument '%s' (see --help)",
				  argv[i]);
		}
	}
	for (size_t i = 0; i < NCASES && !any; i++)
		chosen[i] = true;
	return true;
}

/* A process that has run on one processor only is spared the inter-processor
 * TLB flushes, which would hit the contenders at random. */
static void stay_on_this_cpu(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		bench_note("cannot stay on one processor: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	struct bench b = { .rounds = 12 };
	bool chosen[NCASES] = { false };

	if (parse(argc, argv, &b, chosen)) {
		b.page = (size_t)sysconf(_SC_PAGESIZE);
		stay_on_this_cpu();
		for (size_t i = 0; i < NCASES; i++)
			if (chosen[i])
				cases[i].run(&b);
	}
	if (fflush(stdout) != 0 || ferror(stdout))
		bench_die("cannot write the results: %s", strerror(errno));
	return 0;
}
