/* SPDX-License-Identifier: MIT */
/*
 * support_costs.h: pretended costs, so that a policy takes a certain way to
 * arm, whatever this machine is.
 */
#ifndef SUPPORT_COSTS_H
#define SUPPORT_COSTS_H

#include "costs.h"

enum ways {
	AS_MEASURED,
	RUNS_CHEAP,    /* run by run is the cheapest */
	FUSED_CHEAP,   /* a look and clearing in one */
	WAITING_CHEAP, /* not to arm at once */
	N_WAYS
};

/*
 * From now on, for all handles on the backend of `t`, which must have had a
 * policy: or nothing was measured, and there is nothing to be done.
 */
void pretend_costs(struct wtrack *t, enum ways way);

#endif
