/* SPDX-License-Identifier: MIT */
/*
 * main.c: reads the command line and has the chosen cases measured.
 *
 * Exit status: 0 when every chosen case was measured or skipped with a reason;
 * 1, at once and with one line, when one was not what it should be; 2 for wrong
 * arguments.
 */
#include "kbench.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In this order, so that cases with the same memory are neighbours. */
static const struct family *const families[] = {
	&family_protect, &family_huge, &family_split, &family_scan,
	&family_entries, &family_arm,  &family_fault, &family_resolve,
	&family_written, &family_vmas,
};

#define NFAMILIES    (sizeof(families) / sizeof(families[0]))
#define CASES_MAX    256
#define PATTERNS_MAX 64

struct choice {
	const char *patterns[PATTERNS_MAX];
	size_t npatterns;
	bool list;
	bool beside;
};

__attribute__((format(printf, 1, 2))) static _Noreturn void
bad_usage(const char *fmt, ...)
{
	va_list ap;

	fputs("kbench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs(" (see --help)\n", stderr);
	exit(2);
}

static _Noreturn void print_help(void)
{
	printf("Usage: kbench [--case GLOB]... [OPTION]...\n"
	       "Measures paths of the kernel, one line a case:\n"
	       "  kbench CASE UNITS NS FAULTS FULL ONE REMOTE SPLITS ROUNDS "
	       "OPERATIONS\n"
	       "UNITS are the pages or calls of one iteration and NS the "
	       "least\n"
	       "time one took; the others are counters of one iteration, the\n"
	       "median, or - where the kernel does not count: page faults, "
	       "flushes\n"
	       "of the whole TLB, pages flushed one by one, flushes sent to "
	       "other\n"
	       "processors, and huge page mappings that were split; and where "
	       "flushes\n"
	       "are broadcast, how often one was waited for, and the "
	       "instructions that\n"
	       "asked for them.\n\n"
	       "  --case GLOB     these cases; may be repeated\n"
	       "  --iterations N  of each case, after one that is not counted\n"
	       "  --scale SCALE   full, or small: with a 16th of the memory\n"
	       "  --beside        with a thread on a second processor that "
	       "reads\n"
	       "                  memory of its own\n"
	       "  --list          names the cases\n"
	       "  --help          this text\n");
	exit(0);
}

static int number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end != '\0' || n < 1 || n > 1000)
		bad_usage("--iterations takes 1 to 1000, not '%s'", text);
	return (int)n;
}

static bool is_small(const char *text)
{
	if (strcmp(text, "small") != 0 && strcmp(text, "full") != 0)
		bad_usage("--scale takes small or full, not '%s'", text);
	return strcmp(text, "small") == 0;
}

static void add_pattern(struct choice *choice, const char *pattern)
{
	if (choice->npatterns == PATTERNS_MAX)
		bad_usage("--case can be given %d times", PATTERNS_MAX);
	choice->patterns[choice->npatterns++] = pattern;
}

static void parse(char **argv, struct choice *choice, struct settings *settings)
{
	for (; *argv; argv++) {
		const char *option = *argv;

		if (strcmp(option, "--help") == 0)
			print_help();
		if (strcmp(option, "--list") == 0) {
			choice->list = true;
			continue;
		}
		if (strcmp(option, "--beside") == 0) {
			choice->beside = true;
			continue;
		}
		if (strcmp(option, "--case") != 0 &&
		    strcmp(option, "--iterations") != 0 &&
		    strcmp(option, "--scale") != 0)
			bad_usage("unknown argument '%s'", option);
		if (!*++argv)
			bad_usage("%s needs a value", option);
		if (strcmp(option, "--case") == 0)
			add_pattern(choice, *argv);
		else if (strcmp(option, "--iterations") == 0)
			settings->iterations = number(*argv);
		else
			settings->small = is_small(*argv);
	}
}

static bool is_chosen(const struct choice *choice, const char *name)
{
	for (size_t i = 0; i < choice->npatterns; i++)
		if (fnmatch(choice->patterns[i], name, 0) == 0)
			return true;
	return choice->npatterns == 0;
}

static size_t choose(const struct choice *choice, const struct kcase **chosen)
{
	size_t n = 0;

	for (size_t i = 0; i < NFAMILIES; i++)
		for (size_t j = 0; j < families[i]->ncases; j++) {
			const struct kcase *k = &families[i]->cases[j];

			if (n == CASES_MAX)
				die("more than %d cases", CASES_MAX);
			if (is_chosen(choice, k->name))
				chosen[n++] = k;
		}
	return n;
}

/* A pattern that means nothing is a case that was meant, and is not measured.
 */
static void refuse_idle_patterns(const struct choice *choice)
{
	const struct kcase *found[CASES_MAX];

	for (size_t i = 0; i < choice->npatterns; i++) {
		const struct choice one = { { choice->patterns[i] }, 1, 0, 0 };

		if (choose(&one, found) == 0)
			bad_usage("no case is named '%s'", choice->patterns[i]);
	}
}

int main(int argc, char **argv)
{
	const struct kcase *chosen[CASES_MAX];
	struct settings settings = { 0 };
	struct choice choice = { 0 };
	size_t n;

	(void)argc;
	parse(argv + 1, &choice, &settings);
	if (sysconf(_SC_PAGESIZE) != (long)PAGE)
		die("its cases are made for pages of 4 KiB");
	refuse_idle_patterns(&choice);
	n = choose(&choice, chosen);
	if (choice.list) {
		for (size_t i = 0; i < n; i++)
			printf("%s\n", chosen[i]->name);
	} else {
		if (choice.beside)
			beside_start();
		measure(chosen, n, &settings);
		if (choice.beside)
			beside_stop();
	}
	if (fflush(stdout) != 0 || ferror(stdout))
		die("cannot write the figures: %s", strerror(errno));
	return 0;
}
