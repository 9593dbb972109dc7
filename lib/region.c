/* SPDX-License-Identifier: MIT */
/*
 * region.c: looks up watched ranges, in a table that may change meanwhile.
 *
 * Two levels: a root of sorted leaves of sorted ranges.  A reader never waits:
 * it starts again if, and only if, a writer has finished a change meanwhile.
 */
#include "region_nodes.h"

static struct wt_range load_range(const struct wt_leaf *leaf, size_t i)
{
	struct wt_range copy = { LOAD(leaf->start[i]), LOAD(leaf->at[i].end),
				 LOAD(leaf->at[i].attr),
				 LOAD(leaf->at[i].fresh) };

	return copy;
}

/* 64: what a cache line holds on the machines that matter. */
static void prefetch_starts(const struct wt_leaf *leaf)
{
	for (size_t i = 0; i < sizeof(leaf->start); i += 64)
		__builtin_prefetch((const char *)leaf->start + i);
}

/* The first range that ends after `addr`, or `n`. */
static size_t leaf_index(const struct wt_leaf *leaf, size_t n, uintptr_t addr)
{
	size_t at = 0, left = n;

	while (left > 1) {
		size_t half = left / 2;

		at += half & -(size_t)(LOAD(leaf->start[at + half]) <= addr);
		left -= half;
	}
	return at + (LOAD(leaf->at[at].end) <= addr);
}

/*
 * Finds the first range that ends after `addr`.  Returns its leaf and sets
 * `*index` and `*n`; NULL if there is none, or if the table moved meanwhile
 * (the caller checks the version).
 */
static const struct wt_leaf *seek(const struct wt_table *t, uintptr_t addr,
				  size_t *index, size_t *n)
{
	const struct wt_root *root = LOAD(t->root);
	size_t leaves = LOAD(root->n), i;

	if (!leaves || leaves > LOAD(root->cap))
		return NULL;
	for (i = wt_root_index(root, leaves, addr); i < leaves; i++) {
		const struct wt_leaf *leaf = LOAD(root->at[i].leaf);

		if (!leaf)
			return NULL;
		prefetch_starts(leaf);
		*n = LOAD(leaf->n);
		if (!*n || *n > WT_LEAF_RANGES)
			return NULL;
		*index = leaf_index(leaf, *n, addr);
		if (*index < *n)
			return leaf;
	}
	return NULL;
}

size_t wt_table_peek(const struct wt_table *t, uintptr_t addr,
		     struct wt_range out[WT_LEAF_RANGES])
{
	uint64_t version;
	size_t count;

	do {
		size_t i = 0, n = 0;
		const struct wt_leaf *leaf;

		version = LOAD(t->version);
		leaf = seek(t, addr, &i, &n);
		for (count = 0; leaf && i < n; i++)
			out[count++] = load_range(leaf, i);
	} while (LOAD(t->version) != version);
	return count;
}

bool wt_table_find(const struct wt_table *t, uintptr_t addr,
		   struct wt_range *out)
{
	uint64_t version;
	bool found;

	do {
		size_t i = 0, n = 0;
		const struct wt_leaf *leaf;

		version = LOAD(t->version);
		leaf = seek(t, addr, &i, &n);
		if (leaf)
			*out = load_range(leaf, i);
		found = leaf && out->start <= addr && addr < out->end;
	} while (LOAD(t->version) != version);
	return found;
}

bool wt_table_covers(const struct wt_table *t, uintptr_t start, uintptr_t end)
{
	struct wt_range r[WT_LEAF_RANGES];

	while (start < end) {
		size_t n = wt_table_peek(t, start, r);

		for (size_t i = 0; i < n && start < end; i++) {
			if (r[i].start > start)
				return false;
			start = r[i].end;
		}
		if (!n)
			return false;
	}
	return true;
}

bool wt_table_overlaps(const struct wt_table *t, uintptr_t start, uintptr_t end)
{
	struct wt_range r[WT_LEAF_RANGES];

	return wt_table_peek(t, start, r) && r[0].start < end;
}
