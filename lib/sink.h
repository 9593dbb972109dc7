/* SPDX-License-Identifier: MIT */
/*
 * sink.h: merges dirty stretches into the caller's array of runs.
 *
 * Stretches come in ascending order.  Touching ones with equal flags become
 * one run.  The kernel may write straight into the free part of the array:
 * struct wtrack_run has the layout of the kernel's page_region, and
 * WTRACK_RUN_WRITTEN the value of PAGE_IS_WRITTEN (asserted in sink.c).
 */
#ifndef WT_SINK_H
#define WT_SINK_H

#include "wtrack.h"

#include <stdbool.h>

struct wt_sink {
	struct wtrack_run *runs;
	size_t n;
	size_t cap;
};

/*
 * Appends [start, end); false if a new run is needed and the array is full,
 * and then nothing has changed.  [G6]
 */
bool wt_sink_add(struct wt_sink *s, uintptr_t start, uintptr_t end,
		 uint64_t flags);

/* Where the kernel may store up to `*room` runs. */
struct wtrack_run *wt_sink_tail(const struct wt_sink *s, size_t *room);

/*
 * Takes over `count` runs stored at the tail, merging those that touch.  Only
 * the first of every `stride` can touch the one before it: whoever stored them
 * merged the others, and a look at each would cost more than storing them did.
 */
void wt_sink_commit(struct wt_sink *s, size_t count, size_t stride);

/* Flags as coarse, from index `from` on, runs that hold a whole block. */
void wt_sink_flag_blocks(struct wt_sink *s, size_t from, size_t block);

/*
 * Makes one of runs, from index `from` on, that touch and became equal.  There
 * may be room again: whoever stopped where the sink was full has to go on.
 */
void wt_sink_join(struct wt_sink *s, size_t from);

#endif
