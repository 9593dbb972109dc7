/* SPDX-License-Identifier: MIT */
/*
 * pagemap.h: /proc/self/pagemap, of which each room keeps a descriptor.
 *
 * [K-fd-mm] It belongs to the memory of the process that opened it: a
 * forked child must open its own.
 */
#ifndef WT_PAGEMAP_H
#define WT_PAGEMAP_H

#include "sys.h"

struct wt_page_region;

/* A negative errno if it may not be read; wt_fd_close() closes it. */
int wt_pagemap_open(struct wt_fd *pagemap);

/*
 * One PAGEMAP_SCAN for written pages over [*at, end), arming what it reports if
 * `arm`.  Stores up to `room` regions, moves `*at` to where it stopped, and
 * returns their number.  On any error with `arm`, written bits may have been
 * consumed: the caller must report all of [*at, end).  [K-scan-destructive]
 */
long wt_pagemap_scan(const struct wt_fd *pagemap, uintptr_t *at, uintptr_t end,
		     struct wt_page_region *vec, size_t room, bool arm);
/* The parts of [*at, end) that are registered, whatever lies between. */
long wt_pagemap_registered(const struct wt_fd *pagemap, uintptr_t *at,
			   uintptr_t end, struct wt_page_region *vec,
			   size_t room);

/* The parts of [*at, end) that have memory, or had before it was swapped out.
 */
long wt_pagemap_populated(const struct wt_fd *pagemap, uintptr_t *at,
			  uintptr_t end, struct wt_page_region *vec,
			  size_t room);

/* Entries of pages, read one by one (pread). */
#define WT_ENTRY_SOFT_DIRTY ((uint64_t)1 << 55)
#define WT_ENTRY_UFFD_WP    ((uint64_t)1 << 57)
#define WT_ENTRY_SWAPPED    ((uint64_t)1 << 62)
#define WT_ENTRY_PRESENT    ((uint64_t)1 << 63)

/* The same as wt_pagemap_populated(), where there is no PAGEMAP_SCAN. */
long wt_pagemap_read_populated(const struct wt_fd *pagemap, uintptr_t *at,
			       uintptr_t end, struct wt_page_region *vec,
			       size_t room);

/* Reads up to `n` entries from the page at `at` on; how many, or -errno. */
long wt_pagemap_read(const struct wt_fd *pagemap, uintptr_t at, uint64_t *entry,
		     size_t n);

#endif
