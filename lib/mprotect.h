/* SPDX-License-Identifier: MIT */
/*
 * mprotect.h: what the files of the mprotect room share.
 *
 * The race between a fault (F) that makes a page writable and a collection (C)
 * that clears and protects it, possibly in the other order:
 *  F: announce the page; set its bit; mprotect writable; set its bit again;
 *     withdraw the announcement.
 *  C: clear the bit; mprotect read-only; if the page is announced, set the bit.
 * Had F's mprotect come after C's, then either F still was announced, and C set
 * the bit, or F set it the second time, after C cleared it.  So a page is never
 * writable with its bit clear once both are done, and F's first set makes a
 * store of another thread, let in by F's mprotect, visible at once. [G1]
 */
#ifndef WT_MPROTECT_H
#define WT_MPROTECT_H

#include "engine.h"

#include <sys/mman.h>

/* Faults resolved at one instant; more than the CPUs of usual machines. */
#define WT_ANNOUNCED 64

struct wt_inflight {
	uintptr_t addr[WT_ANNOUNCED];
	uint64_t others; /* faults without a slot, or of more than a page */
	uint64_t clears; /* high half: clearings ended; low half: under way */
};
extern struct wt_inflight wt_inflight;

/* Around each clearing: in it, pages are writable and clean for a moment. */
static inline void wt_clearing_begin(void)
{
	__atomic_fetch_add(&wt_inflight.clears, 1, __ATOMIC_SEQ_CST);
}

static inline void wt_clearing_end(void)
{
	__atomic_fetch_add(&wt_inflight.clears, (1ull << 32) - 1,
			   __ATOMIC_SEQ_CST);
}

/* mprotect_fault.c: pages become writable and dirty. */
int wt_mprotect_set(uintptr_t start, uintptr_t end, uint64_t attr, bool write);
bool wt_mprotect_resolve(struct wtrack *t, const struct wt_span *s,
			 uintptr_t addr);
int wt_mprotect_mark(struct wtrack *t, const struct wt_span *s);

/* backend_mprotect.c: protects [start, end), whose bits are cleared already. */
int wt_mprotect_protect(struct wtrack *t, const struct wt_span *s,
			uintptr_t start, uintptr_t end);

/* mprotect_collect.c */
void wt_mprotect_collect(struct wtrack *t, const struct wt_span *s,
			 uintptr_t *at, struct wt_sink *sink, bool clear);

#endif
