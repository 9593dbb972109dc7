/* SPDX-License-Identifier: MIT */
/* support_costs.c: puts other costs in the place of those that were measured.
 */
#include "support_costs.h"
#include "engine.h"

static const struct wt_costs ways[N_WAYS] = {
	[RUNS_CHEAP] = { .fault = 90000,
			 .arm = 10,
			 .arm_page = 1,
			 .call = 90000,
			 .fused = 90000,
			 .look = 10 },
	[FUSED_CHEAP] = { .fault = 10,
			  .arm = 90000,
			  .arm_page = 90000,
			  .call = 10,
			  .fused = 10,
			  .look = 10 },
	[WAITING_CHEAP] = { .fault = 10,
			    .arm = 900000,
			    .arm_page = 100,
			    .call = 900000,
			    .fused = 900000,
			    .look = 10 },
};

/* What was measured, of each backend. */
static struct wt_costs measured[WT_N_BACKENDS];

/* Its place is not constant. */
void pretend_costs(struct wtrack *t, enum ways way)
{
	struct wt_costs *kept = &measured[wt_backend_index(wt_be(t))];
	struct wt_costs *at =
		(struct wt_costs *)(uintptr_t)wt_costs_measured(wt_be(t));

	if (!at)
		return;
	if (!kept->fault)
		*kept = *at;
	*at = way == AS_MEASURED ? *kept : ways[way];
}
