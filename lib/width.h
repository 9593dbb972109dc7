/* SPDX-License-Identifier: MIT */
/*
 * width.h: whether the kernel is set to un-arm more than the page of a store.
 *
 * Two settings of patched kernels, off unless somebody set them [K-async-wide].
 * Nothing is lost by either; what is reported says that it may be too much.
 */
#ifndef WT_WIDTH_H
#define WT_WIDTH_H

#include "backend.h"

struct wt_width {
	bool around; /* a store un-arms neighbours of its page */
	bool huge;   /* a store un-arms all of a transparent huge page */
};

/* Where the kernel has no such settings, or they cannot be read: neither. */
struct wt_width wt_width_read(void);

/* Which of the pages were written and which lie around them, nobody knows. */
static inline void wt_width_flag_around(const struct wt_width *w,
					struct wtrack_run *runs, size_t n)
{
	for (size_t i = 0; i < n && w->around; i++)
		runs[i].flags |= WTRACK_RUN_COARSE;
}

/*
 * After the fact, from index `from` on: what of a huge page may be one store.
 * Then there may be room in the sink again, as wt_sink_join() says.
 */
void wt_width_flag_huge(const struct wt_width *w, const struct wt_span *s,
			struct wt_sink *sink, size_t from);

#endif
