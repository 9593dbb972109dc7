/* SPDX-License-Identifier: MIT */
/*
 * shadow.h: a shadow of each page, for operations that are drawn at random.
 *
 * Every operation does something to the memory or calls the library, and does
 * the same to the shadow; a look compares what is reported with it.  What was
 * written must be reported [G1]; what was not must not be, or must say in its
 * flags why it is [G2]; what was lost must say so [G3].
 */
#ifndef SHADOW_H
#define SHADOW_H

#include "support_live.h"

#define BOTH    (WTRACK_GET | WTRACK_CLEAR)
#define PAGES_N 96

/* What is known of a page. */
struct shadow {
	bool watched;
	bool written; /* must be reported */
	bool maybe;   /* may be: its contents or protection were meddled with */
	bool initial; /* must be reported, as such */
	bool unsure;  /* may be, as such: cleared out of order */
	bool lost;    /* must be reported, as such */
	bool policy;  /* another than exact */
	bool kept;    /* must be reported: advised to be written */
	bool soft;    /* may be, as presumed */
	bool lazy;    /* so if new; discarded, it need not be if it was zero */
	bool gone;    /* not mapped: discarded, and not touched since */
	bool zero;    /* discarded and not written since */
	bool was_zero; /* when it was watched or cleared */
};

struct model {
	struct wtrack *t;
	uint64_t caps;
	struct mem m;
	enum mem_kind kind;
	size_t grain;                      /* in pages */
	const struct wtrack_policy *other; /* that is set besides exact */
	bool policy; /* of what is watched from now on; not exact */
	bool lossy;  /* a page was lost: what is armed with it may fail */
	size_t hot;  /* where the pages begin that are written in each epoch */
	struct dice dice;
	struct shadow page[PAGES_N];
	const char *last; /* operation */
};

/* ---- the shadow ---- */

/* A random part: its first page, and how many. */
size_t shadow_part(struct model *s, size_t *n);
bool shadow_all_watched(const struct model *s, size_t first, size_t n, bool is);
/* Watched, and not lost. */
bool shadow_all_tracked(const struct model *s, size_t first, size_t n);
/* Written: by a store, or by the kernel. */
void shadow_written(struct shadow *p);
/* Fails if `flags`, 0 if it was not reported, disagree. */
void shadow_check(const struct model *s, size_t page, uint64_t flags);
/* After a clearing that reported it so. */
void shadow_cleared(const struct model *s, struct shadow *p, uint64_t flags);
/*
 * Some calls of a collection over [first, end), of `nruns` runs each; checks
 * what they covered.
 */
void shadow_look(struct model *s, size_t first, size_t end, size_t nruns,
		 size_t calls, unsigned flags);
/* Everything was cleared in order: nothing is initial without being so. */
void shadow_sure(struct model *s);

/* ---- operations on the memory (shadow_memory.c) ---- */

void op_store(struct model *s);
void op_store_hot(struct model *s);
void op_move_hot(struct model *s);
void op_load(struct model *s);
void op_kernel_write(struct model *s);
void op_discard(struct model *s);
void op_protect(struct model *s);
void op_huge(struct model *s);
void op_replace(struct model *s);
void op_fork(struct model *s);

/* ---- operations on the tracker (shadow_calls.c) ---- */

void op_watch(struct model *s);
void op_unwatch(struct model *s);
void op_mark(struct model *s);
void op_look(struct model *s);
void op_collect(struct model *s);
void op_collect_all(struct model *s);
void op_snapshot(struct model *s);
void op_epochs(struct model *s);
void op_clear(struct model *s);
void op_set_policy(struct model *s);
void op_advise_writes(struct model *s);
void op_advise_arm(struct model *s);
void op_advise_normal(struct model *s);

#endif
