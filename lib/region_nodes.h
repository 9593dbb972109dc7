/* SPDX-License-Identifier: MIT */
/*
 * region_nodes.h: the nodes of a table, for its readers and its writers only.
 *
 * Ordering, with R a reader and W a writer:
 *  a) W stores the new root before it moves the version (release); pairs with
 *     R's acquire load of the version: a reader of the new version never sees
 *     the old root.
 *  b) W moves the version before it overwrites old nodes (acq_rel); pairs with
 *     R's acquire loads of node fields: a reader that sees an overwritten field
 *     then sees the version moved, and starts again.
 */
#ifndef WT_REGION_NODES_H
#define WT_REGION_NODES_H

#include "region.h"

/*
 * A kilobyte.  The starts stand apart, so that the search of a leaf reads four
 * cache lines that can be fetched at once.
 */
struct wt_leaf {
	uint64_t n;    /* a stale reader checks it against WT_LEAF_RANGES */
	uint64_t link; /* the pool's */
	uintptr_t start[WT_LEAF_RANGES];
	struct {
		uintptr_t end;
		uint64_t attr;
		uintptr_t *fresh;
	} at[WT_LEAF_RANGES];
};

/* Every field of a node is read while it may be overwritten. */
#define LOAD(x)     __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELEASE)

/*
 * The last leaf that starts at or before `addr`, or the first.  Halving without
 * a branch on the key: at 100 000 ranges mispredicted ones were half the time.
 */
static inline size_t wt_root_index(const struct wt_root *root, size_t n,
				   uintptr_t addr)
{
	size_t at = 0;

	while (n > 1) {
		size_t half = n / 2;

		at += half & -(size_t)(LOAD(root->at[at + half].start) <= addr);
		n -= half;
	}
	return at;
}

#endif
