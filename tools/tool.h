/* SPDX-License-Identifier: MIT */
/* tool.h: what the files of wtrack(1) share. */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wtrack.h>

/* One result of wtrack_probe(). */
struct item {
	const char *key;   /* in JSON */
	const char *label; /* for a person */
	size_t offset;     /* in struct wtrack_probe */
};
#define ITEM(member) offsetof(struct wtrack_probe, member)

/* Each ends with a key of NULL. */
extern const struct item items_doors[];
extern const struct item items_kernel[];

/* 0, a negative errno or WTRACK_NOT_TRIED. */
int item_result(const struct wtrack_probe *p, const struct item *item);

/* The name of a negative errno, such as EPERM.  Static, until the next call. */
const char *errno_name(int error);

/* The names of WTRACK_CAP_* in the order of their bits; NULL behind the last.
 */
extern const char *const cap_names[];
/* What a program has to do without it. */
extern const char *const cap_lacks[];

/*
 * What to do about an item that does not work, in one line; NULL: nothing.
 * Static.
 */
const char *advice_for(const struct wtrack_probe *p, const struct item *item);

/* What probe exits with. */
enum grade {
	GRADE_FULL = 0,
	GRADE_FALLBACK = 1,
	GRADE_NOTHING = 2,
};
enum grade grade_of(const struct wtrack_probe *p);

void probe_json(const struct wtrack_probe *p);

/* What came of writing to watched memory and collecting at the same time. */
struct outcome {
	uint64_t stores;
	uint64_t collections;
	uint64_t lost;     /* pages that were written and not reported */
	uint64_t invented; /* pages that were reported and not written */
};
/* 0, or the negative errno of what failed. */
int stress(struct wtrack *t, long seconds, struct outcome *outcome);

/* Says one line on stderr and exits with EX_USAGE. */
__attribute__((format(printf, 1, 2), noreturn)) void usage_error(const char *f,
								 ...);

/* The commands: their own arguments, from argv[1] on; the exit status. */
int run_probe(int argc, char **argv);
int run_selftest(int argc, char **argv);

/* Tells of an option that getopt_long() did not take (`c` is what it said). */
__attribute__((noreturn)) void bad_option(int c, char **argv);

#endif
