/* SPDX-License-Identifier: MIT */
/*
 * seccomp_rules.h: the system calls of each backend, as data.
 *
 * A new system call anywhere in the library is a row in seccomp_rules.c; the
 * test of it fails for a row that is missing, and for one that nobody needs.
 */
#ifndef WT_SECCOMP_RULES_H
#define WT_SECCOMP_RULES_H

#include <stddef.h>
#include <stdint.h>

/* Who needs a rule. */
#define WT_FOR_SCAN      0x01u
#define WT_FOR_WP        0x02u
#define WT_FOR_MONITOR   0x04u
#define WT_FOR_SOFTDIRTY 0x08u
#define WT_FOR_MPROTECT  0x10u
#define WT_FOR_ALL       0x20u
#define WT_FOR_ASYNC     0x40u

/* When: a rule without WT_TO_RUN is for the first open of a backend only. */
#define WT_TO_OPEN 0x1u
#define WT_TO_RUN  0x2u

/* Satisfied if argument number `arg` & `mask` is `value`. */
struct wt_seccomp_condition {
	unsigned arg;
	uint64_t mask;
	uint64_t value;
};

struct wt_seccomp_rule {
	int nr;            /* libseccomp's number of the system call */
	unsigned backends; /* WT_FOR_* */
	unsigned when;     /* WT_TO_* */
	unsigned n;        /* conditions, which all must be satisfied */
	struct wt_seccomp_condition condition[2];
};

struct wt_seccomp_name {
	const char *name;
	unsigned backend; /* WT_FOR_* */
	unsigned unasked; /* the same, or 0 if it must be named to be tried */
};

extern const struct wt_seccomp_rule wt_seccomp_rules[];
extern const size_t wt_seccomp_n_rules;
extern const struct wt_seccomp_name wt_seccomp_names[];
extern const size_t wt_seccomp_n_names;

/* The backends that this name means (NULL: any tried unasked); 0: none. */
unsigned wt_seccomp_backends(const char *name);
/* Whether a filter for these backends and times has this rule. */
int wt_seccomp_applies(const struct wt_seccomp_rule *rule, unsigned backends,
		       unsigned when);
/* Adds one rule to a libseccomp filter; its negative errno. */
int wt_seccomp_add(void *ctx, const struct wt_seccomp_rule *rule);

#endif
