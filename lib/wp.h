/* SPDX-License-Identifier: MIT */
/*
 * wp.h: write-protect that is read back from pagemap, what its rooms share.
 *
 * The page tables are the record: an armed page has the write-protect bit, and
 * whoever resolves its fault, here or in the kernel, takes the bit away.  So a
 * page without it is dirty, whether it was stored to, discarded or replaced,
 * and a store that follows a discard, which no longer faults, is not lost. [G1]
 * The bits are read from pagemap [K-pagemap-wp]; then exactly what was reported
 * is armed [K-get-then-arm].
 *
 * Where the program promises to do none of that (WTRACK_WATCH_STABLE), whoever
 * resolves a fault also sets a bit in the bitmap, and a collection reads only
 * that.  A room in which the kernel resolves them leaves that promise out of
 * its attr_mask.
 */
#ifndef WT_WP_H
#define WT_WP_H

#include "engine.h"
#include "announced.h"

/* What a room keeps open. */
struct wt_wp {
	struct wt_uffd uffd;
	struct wt_fd pagemap;
	uint64_t features; /* that the room asks for, beside write-protect */
	struct wt_doors doors;
	struct wt_announced announced; /* faults in stable ranges */
};

int wt_wp_open(struct wt_wp *wp);
void wt_wp_close(struct wt_wp *wp);

/* Un-arms the block of a write fault at `addr`; a negative errno. */
int wt_wp_resolve(struct wtrack *t, const struct wt_span *s, uintptr_t addr);

/* The rooms' entries; backend.h has their contract. */
int wt_wp_enroll(struct wtrack *t, const struct wt_span *s, bool dirty);
int wt_wp_withdraw(struct wtrack *t, const struct wt_span *s);
void wt_wp_collect(struct wtrack *t, const struct wt_span *s, uintptr_t *at,
		   struct wt_sink *sink, unsigned flags);
long wt_wp_populated(struct wtrack *t, uintptr_t *at, uintptr_t end,
		     struct wt_page_region *part, size_t n);
int wt_wp_arm(struct wtrack *t, const struct wt_span *s, unsigned flags);
int wt_wp_mark(struct wtrack *t, const struct wt_span *s);
int wt_wp_inspect(struct wtrack *t, const struct wt_span *s, uintptr_t addr);
void wt_wp_adopt(struct wtrack *t, const struct wt_span *s);

#endif
