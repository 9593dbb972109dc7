/* SPDX-License-Identifier: MIT */
/*
 * dirtymap.h: one bit a page, for backends whose kernel keeps none.
 *
 * The map covers the whole address space by chunks (sparse.h) of 32 KiB of
 * bits.  A summary bit for each word lets a collection pass over clean memory
 * at 16 MiB a cache line.
 */
#ifndef WT_DIRTYMAP_H
#define WT_DIRTYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes room for [start, end).  Under the engine's lock.  -ENOMEM. */
int wt_dirty_reserve(uintptr_t start, uintptr_t end);

/* All of these need reserved memory; page-aligned; async-signal-safe. */
void wt_dirty_set(uintptr_t start, uintptr_t end);
void wt_dirty_clear(uintptr_t start, uintptr_t end);
bool wt_dirty_test(uintptr_t addr);

/* First run of dirty pages in [start, end); false if there is none. */
bool wt_dirty_next(uintptr_t start, uintptr_t end, uintptr_t *run_start,
		   uintptr_t *run_end);
/* First clean address in [start, end), or `end`. */
uintptr_t wt_dirty_end(uintptr_t start, uintptr_t end);
/* Where the dirty pages before `addr`, not below `start`, end; or `start`. */
uintptr_t wt_dirty_before(uintptr_t start, uintptr_t addr);

/*
 * Notes that pages of [start, end) may be dirty without a store; asks whether
 * that is so for any.  Kept for 64 pages at a time, until they are all clean.
 */
void wt_dirty_set_degraded(uintptr_t start, uintptr_t end);
bool wt_dirty_degraded(uintptr_t start, uintptr_t end);

/* Bytes mapped for the map, process-wide. */
uint64_t wt_dirty_bytes(void);

#endif
