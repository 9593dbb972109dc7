/* SPDX-License-Identifier: MIT */
/*
 * fastpaths.h: which fast paths the running kernel has, asked by behaviour.
 *
 * Never by version: distributions move changes, and the patches of kernel/ can
 * be in any of them.
 */
#ifndef FASTPATHS_H
#define FASTPATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <wtrack.h>

#define FAST_UNKNOWN (-1)

struct fast_answer {
	int works;     /* 1, 0 or FAST_UNKNOWN */
	char told[96]; /* what was seen; of what is unknown, why */
};

struct fast_path {
	const char *name;
	const char *meaning; /* one line */
	/* Runs in a process of its own, and ends in one of those below. */
	void (*ask)(const struct wtrack_probe *p);
};

/* Ends with a name of NULL. */
extern const struct fast_path fast_paths[];

/* What has not answered by then has no answer.  Seconds. */
extern unsigned fast_path_deadline;

/*
 * Asks in a child, which takes with it whatever goes wrong there: a signal, a
 * store that waits for ever, memory that cannot be unmapped.
 */
struct fast_answer fast_path_ask(const struct fast_path *path,
				 const struct wtrack_probe *p);

/* ---- how an `ask` ends: with what was seen, or with why it cannot tell ----
 */

__attribute__((format(printf, 2, 3), noreturn)) void
answer(bool works, const char *format, ...);
__attribute__((format(printf, 1, 2), noreturn)) void
answer_unknown(const char *format, ...);
/* What was called, and the negative errno of it. */
__attribute__((noreturn)) void answer_refused(const char *call, int error);

/* ---- the questions ---- */

void ask_mprotect_upgrade(const struct wtrack_probe *p);
void ask_uffd_upgrade(const struct wtrack_probe *p);
void ask_seal_by_mapping(const struct wtrack_probe *p);
void ask_one_fault_empty(const struct wtrack_probe *p);
void ask_huge_write(const struct wtrack_probe *p);
void ask_fault_around(const struct wtrack_probe *p);
void ask_short_scan(const struct wtrack_probe *p);
void ask_reports_none(const struct wtrack_probe *p);
void ask_reports_hole(const struct wtrack_probe *p);

#endif
