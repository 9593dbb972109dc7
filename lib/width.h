/* SPDX-License-Identifier: MIT */
/*
 * width.h: whether the kernel is set to un-arm more than the page of a store.
 *
 * Two settings of patched kernels, off unless somebody set them [K-async-wide].
 * Nothing is lost by either; what is reported says that it may be too much.
 */
#ifndef WT_WIDTH_H
#define WT_WIDTH_H

#include <stdbool.h>

struct wt_width {
	bool around; /* a store un-arms neighbours of its page */
	bool huge;   /* a store un-arms all of a transparent huge page */
};

/* Where the kernel has no such settings, or they cannot be read: neither. */
struct wt_width wt_width_read(void);

#endif
