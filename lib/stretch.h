/* SPDX-License-Identifier: MIT */
/*
 * stretch.h: what is watched, cut into stretches that one call can serve.
 *
 * Ranges are copied out of the table a leaf at a time; those that touch and are
 * alike are one stretch.  Nothing here waits or allocates. [G4]
 */
#ifndef WT_STRETCH_H
#define WT_STRETCH_H

#include "engine.h"

/* Ranges copied out of one version of the table; `i` is the next. */
struct wt_feed {
	uint64_t version;
	struct wt_range r[WT_LEAF_RANGES];
	size_t i;
	size_t n;
	uintptr_t mapped_to; /* no gap from the last stretch up to here */
	bool gaps;           /* between these ranges; looked for once */
};

/* A stretch, and for an initial one the word that says so. */
struct wt_stretch {
	struct wt_span s;
	uintptr_t *fresh; /* NULL: not initial */
	bool last_of_range;
};

static inline void wt_feed_init(struct wt_feed *f)
{
	f->version = 0;
	f->i = f->n = 0;
	f->mapped_to = 0;
}

/*
 * The next stretch from `at` on, below `limit`; false at the end.  It is
 * initial or not initial as a whole, and no part of it is in transition.
 */
bool wt_next_stretch(const struct wtrack *t, struct wt_feed *f, uintptr_t at,
		     uintptr_t limit, struct wt_stretch *x);

/* No more than `most` bytes of it, if that is not 0; all if it is initial. */
void wt_stretch_cut(struct wt_stretch *x, struct wt_feed *f, size_t most);

/*
 * Whether all of the stretch is mapped.  One look serves all ranges at hand if
 * what lies between them is mapped too: it costs as much as a small scan.
 */
bool wt_stretch_is_mapped(struct wtrack *t, struct wt_feed *f,
			  const struct wt_span *s);

/* An initial stretch, armed as a whole, is so no more. */
void wt_stretch_cleared(const struct wt_stretch *x);

#endif
