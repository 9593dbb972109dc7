/* SPDX-License-Identifier: MIT */
/*
 * uffd.h: the process's userfaultfd and pagemap, and the doors to them.
 *
 * One userfaultfd for all handles, because a mapping can belong to one only.
 */
#ifndef WT_UFFD_H
#define WT_UFFD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_page_region;

/* What each door answered: 0, a negative errno, or WTRACK_NOT_TRIED. */
struct wt_doors {
	int device;
	int syscall;
	int user;
	int pagemap;
};

/* Opens both descriptors; `doors` is filled in, failure or not. */
int wt_uffd_open(struct wt_doors *doors);
void wt_uffd_close(void);

/* Page-aligned; negative errno of the ioctl. */
int wt_uffd_register(uintptr_t start, uintptr_t end);
int wt_uffd_unregister(uintptr_t start, uintptr_t end);
/* Arms (write-protects) or un-arms every page of the range. */
int wt_uffd_protect(uintptr_t start, uintptr_t end, bool arm);

/*
 * One PAGEMAP_SCAN for `category` over [*at, end), arming what it reports if
 * `arm`.  Stores up to `room` regions, moves `*at` to where it stopped, and
 * returns their number.  On any error with `arm`, written bits may have been
 * consumed: the caller must report all of [*at, end).  [K-scan-destructive]
 */
long wt_pagemap_scan(uintptr_t *at, uintptr_t end, struct wt_page_region *vec,
		     size_t room, bool arm);
/* The parts of [*at, end) that are registered, whatever lies between. */
long wt_pagemap_registered(uintptr_t *at, uintptr_t end,
			   struct wt_page_region *vec, size_t room);

#endif
