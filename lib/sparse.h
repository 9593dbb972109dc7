/* SPDX-License-Identifier: MIT */
/*
 * sparse.h: something for each 2^18 pages of the address space that has it.
 *
 * A two-level directory of chunks, which appear when memory is first watched
 * and stay: handlers and collectors find them without locks and without fear
 * that they vanish.
 */
#ifndef WT_SPARSE_H
#define WT_SPARSE_H

#include "mem.h"

/* The pages of a chunk: of 4 KiB, they are a GiB. */
#define WT_SPARSE_SHIFT 18

/*
 * 57 bits of address less the chunk's 30 make 27.  A directory is 16 KiB, for
 * 2 TiB: most programs have one.
 */
#define WT_SPARSE_LOW  11
#define WT_SPARSE_HIGH 16

struct wt_sparse {
	void **directory[(size_t)1 << WT_SPARSE_HIGH];
	uint64_t bytes; /* mapped, process-wide */
};

/* The chunk of a page, by its number; NULL: none. */
static inline void *wt_sparse_at(const struct wt_sparse *m, uintptr_t page)
{
	uintptr_t i = page >> WT_SPARSE_SHIFT;
	void *const *d;

	if (i >> (WT_SPARSE_LOW + WT_SPARSE_HIGH))
		return NULL;
	d = __atomic_load_n(&m->directory[i >> WT_SPARSE_LOW],
			    __ATOMIC_ACQUIRE);
	if (!d)
		return NULL;
	return __atomic_load_n(&d[i & ((1u << WT_SPARSE_LOW) - 1)],
			       __ATOMIC_ACQUIRE);
}

/* Chunks of so many bytes for the pages [page, last).  Engine's lock. */
int wt_sparse_reserve(struct wt_sparse *m, uintptr_t page, uintptr_t last,
		      size_t bytes);

#endif
