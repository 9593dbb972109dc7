/* SPDX-License-Identifier: MIT */
/*
 * region.h: which ranges a handle watches, readable without locks.
 *
 * Writers hold the engine's lock and publish a new version of the table by
 * one pointer store; old nodes are recycled, never unmapped.  Readers (signal
 * handlers, collectors, queries) copy what they need and check the version
 * afterwards, again if it moved.  So a reader neither waits for a writer nor
 * makes one wait: it may be suspended anywhere.  [G4]
 *
 * Why readers do not hold an RCU read lock for this: synchronize_rcu() of
 * urcu-bp waits with all signals blocked.  If a reader were suspended by a
 * stop-the-world signal inside its section, the waiting thread could never
 * take that signal, and the world would never stop.  RCU guards what is *done*
 * to a range, in sections that cannot be suspended; see engine.h.
 */
#ifndef WT_REGION_H
#define WT_REGION_H

#include "mem.h"

#include <stdbool.h>

/* Attributes of a range, fixed while it is watched. */
#define WT_PROT_MASK  0x07u /* PROT_* that the application gave it */
#define WT_HUGETLB    0x08u
#define WT_FILE       0x10u /* page cache behind it: shmem or file */
#define WT_STABLE     0x20u /* promised: WTRACK_WATCH_STABLE */
#define WT_SHIFT_BITS 8     /* log2 of the grain in the 8 bits from here on */
/* A policy (policy.h): the bits where its fields are kept. */
#define WT_POLICY_KIND  16
#define WT_POLICY_AFTER 18
#define WT_POLICY_FROM  21
#define WT_POLICY_TO    25
#define WT_POLICY_COST  32
/* The policy has a state for each page (heat.h) and is asked. */
#define WT_POLICY ((uint64_t)1 << 30)
/* Pages that were never populated and cleared are un-armed, and not dirty. */
#define WT_LAZY        ((uint64_t)1 << 31)
#define WT_POLICY_MASK (~(uint64_t)0 << WT_POLICY_KIND)

/* Not an address: nothing in the range is initial. */
#define WT_NOT_FRESH UINTPTR_MAX

struct wt_range {
	uintptr_t start;
	uintptr_t end;
	uint64_t attr;
	/*
	 * From this address on the range has not been cleared since it was
	 * watched.  Shared by all who read the table: collectors move it.
	 */
	uintptr_t *fresh;
};

/* Bytes; more than a page if it is hugetlb or the handle asked for more. */
static inline size_t wt_range_grain(uint64_t attr)
{
	return (size_t)1 << (attr >> WT_SHIFT_BITS & 0xff);
}

/* What a leaf of a kilobyte holds: one peek copies at most so many. */
#define WT_LEAF_RANGES 31

struct wt_leaf;

struct wt_root_entry {
	uintptr_t start;
	struct wt_leaf *leaf;
};

struct wt_root {
	size_t n;
	size_t cap;
	size_t bytes;
	struct wt_root_entry at[];
};

struct wt_table {
	uint64_t version;      /* moves before old nodes are overwritten */
	struct wt_root *root;  /* what readers see */
	struct wt_root *spare; /* what the next version is built in */
	struct wt_pool leaves;
	struct wt_pool cells; /* the words that `fresh` points to */
	uint64_t ranges;
	uint64_t bytes;
	uint64_t *account;
};

/* All of these need the engine's lock. */
int wt_table_init(struct wt_table *t, uint64_t *account);
void wt_table_destroy(struct wt_table *t);
/* Makes `n` insertions, or one removal, succeed.  -ENOMEM: nothing changed. */
int wt_table_reserve(struct wt_table *t, size_t n);
/*
 * `r->fresh` is ignored; `fresh` is the initial value of its cell.  Joined with
 * neighbours that touch it, are alike and, as it is, not initial: thousands of
 * adjacent ranges then cost a collection what one does.
 */
void wt_table_insert(struct wt_table *t, const struct wt_range *r,
		     uintptr_t fresh);
/* Puts `r` in the place of what is watched there, all of it, in one step. */
void wt_table_replace(struct wt_table *t, const struct wt_range *r,
		      uintptr_t fresh);
/* Removes [start, end) and cuts the ranges that reach over it. */
void wt_table_remove(struct wt_table *t, uintptr_t start, uintptr_t end);

/*
 * Copies the ranges that end after `addr`, in order, from one leaf: up to
 * WT_LEAF_RANGES; 0 at the end of the table.  Async-signal-safe.
 */
size_t wt_table_peek(const struct wt_table *t, uintptr_t addr,
		     struct wt_range out[WT_LEAF_RANGES]);
/* The range that contains `addr`.  Async-signal-safe. */
bool wt_table_find(const struct wt_table *t, uintptr_t addr,
		   struct wt_range *out);
/* Whether every page of [start, end) is in the table; any of it. */
bool wt_table_covers(const struct wt_table *t, uintptr_t start, uintptr_t end);
bool wt_table_overlaps(const struct wt_table *t, uintptr_t start,
		       uintptr_t end);

/* Moves whenever the table changes. */
static inline uint64_t wt_table_version(const struct wt_table *t)
{
	return __atomic_load_n(&t->version, __ATOMIC_ACQUIRE);
}

static inline uintptr_t wt_fresh_get(const uintptr_t *cell)
{
	return __atomic_load_n(cell, __ATOMIC_ACQUIRE);
}

#endif
