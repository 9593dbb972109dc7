/* SPDX-License-Identifier: MIT */
/*
 * costs.h: what the ways to arm cost here, measured once for each backend.
 *
 * Faults, calls and flushes differ by ten and more between a machine, a virtual
 * one and a busy one; so the policy reckons with what it finds.
 */
#ifndef WT_COSTS_H
#define WT_COSTS_H

#include "backend.h"
#include "policy.h"

/*
 * Measures on scratch memory, in 2 ms at most, unless that was done before.
 * Where it fails, as when memory is short, it is tried again by the next.
 * Engine's lock.
 */
void wt_costs_measure(const struct wt_backend *be, bool hosted);

/* What was measured, or what is usual. */
const struct wt_costs *wt_costs_of(const struct wt_backend *be);
/* NULL: not measured. */
const struct wt_costs *wt_costs_measured(const struct wt_backend *be);

#endif
