/* SPDX-License-Identifier: MIT */
/*
 * softdirty.h: soft-dirty bits, shared by the files of their room.
 *
 * The kernel sets a page's bit when it is stored to, and clears the bits of the
 * whole process at once.  So a page is dirty if its bit is set, or its bit in
 * the dirtymap: before the kernel's are cleared, those of all watched memory of
 * all handles are folded into the dirtymap.  Whoever reads both reads the
 * kernel's first, or a folding in between would hide a page.
 *
 * Between the folding and the clearing a store would be lost.  So bits are
 * cleared only where nobody can store meanwhile.  [G1]
 */
#ifndef WT_SOFTDIRTY_H
#define WT_SOFTDIRTY_H

#include "engine.h"
#include "vma.h"

/* Entries read at once: half a kilobyte of stack. */
#define WT_SOFT_ENTRIES 64

/* Opens what the room needs; a negative errno. */
int wt_soft_open(void);
void wt_soft_close(void);
/* In a child: the parent's threads are not under way here. */
void wt_soft_reset(void);

/* -EBADF: the descriptors are closed, or another's by now. */
int wt_soft_check(void);
/* Entries from `at` on, below `end`; how many, or a negative errno. */
long wt_soft_read(struct wtrack *t, uintptr_t at, uintptr_t end,
		  uint64_t entry[WT_SOFT_ENTRIES]);
/* 1 if a bit in [start, end) is set, 0 if none is, or a negative errno. */
int wt_soft_any(struct wtrack *t, uintptr_t start, uintptr_t end);

/*
 * Makes all of the process clean for the kernel, if nobody can write meanwhile:
 * if `stopped`, or nobody else is there.  -EAGAIN: not now.  On success the
 * dirtymap has what was dirty.  Signals are blocked for as long as it takes.
 * `entry` is overwritten: stack is scarce here.
 */
int wt_soft_clear(struct wtrack *t, bool stopped,
		  uint64_t entry[WT_SOFT_ENTRIES]);

/* Notes what could not be cleared: dirty from now on, written or not. [G2] */
void wt_soft_keep(uintptr_t start, uintptr_t end);
/* The same for the pages of [start, end) whose bits are set. */
int wt_soft_keep_set(struct wtrack *t, uintptr_t start, uintptr_t end);

/* ---- bits that say more than was stored to ---- */

/*
 * [K-soft-new] In a new mapping, or one that grew, every page reads as dirty;
 * [K-soft-huge] and in a huge page as soon as one is.  This remembers the
 * answers for the mapping and the block last asked about.
 */
struct wt_soft_doubt {
	struct wt_vma_walk walk;
	struct wt_vma mapping;
	uintptr_t known_to; /* `flags` are of all pages below */
	uint64_t flags;
	bool asked; /* whether all of the mapping is dirty */
	bool all;
};

void wt_soft_doubt_begin(struct wt_soft_doubt *d, uintptr_t start);
/*
 * How to flag the page at `addr`, whose bit is set, beside as written: as
 * WTRACK_RUN_COARSE if all of its block is dirty, and as WTRACK_RUN_DEGRADED
 * if all of its mapping is.  Addresses ascend.
 */
uint64_t wt_soft_doubt_at(struct wtrack *t, struct wt_soft_doubt *d,
			  uintptr_t addr);
void wt_soft_doubt_end(struct wt_soft_doubt *d);

void wt_soft_collect(struct wtrack *t, const struct wt_span *s, uintptr_t *at,
		     struct wt_sink *sink, unsigned flags);

#endif
