/* SPDX-License-Identifier: MIT */
/*
 * announced.h: faults and clearings under way, for rooms that keep a bitmap.
 *
 * The race between a fault (F) that makes a page writable and a collection (C)
 * that clears and protects it, possibly in the other order:
 *  F: announce the page; set its bit; un-protect; set its bit again; withdraw
 *     the announcement.
 *  C: clear the bit; protect; if the page is announced, set the bit.
 * Had F's un-protecting come after C's protecting, then either F still was
 * announced, and C set the bit, or F set it the second time, after C cleared
 * it.  So a page is never writable with its bit clear once both are done, and
 * F's first set makes a store of another thread, let in by F's un-protecting,
 * visible at once. [G1]
 */
#ifndef WT_ANNOUNCED_H
#define WT_ANNOUNCED_H

#include "backend.h"

/* Faults resolved at one instant; more than the CPUs of usual machines. */
#define WT_ANNOUNCED 64

struct wt_announced {
	uintptr_t addr[WT_ANNOUNCED];
	uint64_t others; /* faults without a slot, or of more than a page */
	uint64_t clears; /* high half: clearings ended; low half: under way */
};

/* Returns what wt_withdraw_announcement() needs.  Async-signal-safe. */
uint64_t *wt_announce(struct wt_announced *f, uintptr_t addr);
void wt_withdraw_announcement(struct wt_announced *f, uint64_t *slot);
/* Of whatever pages, for as long as it takes. */
void wt_announce_any(struct wt_announced *f);
void wt_withdraw_any(struct wt_announced *f);

/* After `s` was cleared and protected: what faults may have undone is dirty. */
void wt_heed_announced(const struct wt_announced *f, const struct wt_span *s);

/* In a forked child: those under way are threads of the parent. */
void wt_announced_reset(struct wt_announced *f);

/* Around each clearing: in it, pages are writable and clean for a moment. */
static inline void wt_clearing_begin(struct wt_announced *f)
{
	__atomic_fetch_add(&f->clears, 1, __ATOMIC_SEQ_CST);
}

static inline void wt_clearing_end(struct wt_announced *f)
{
	__atomic_fetch_add(&f->clears, (1ull << 32) - 1, __ATOMIC_SEQ_CST);
}

#endif
