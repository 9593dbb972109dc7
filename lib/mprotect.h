/* SPDX-License-Identifier: MIT */
/* mprotect.h: what the files of the mprotect room share. */
#ifndef WT_MPROTECT_H
#define WT_MPROTECT_H

#include "engine.h"
#include "announced.h"

#include <sys/mman.h>

extern struct wt_announced wt_mprotect_announced;

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
			 uintptr_t *at, struct wt_sink *sink, unsigned flags);

#endif
