/* SPDX-License-Identifier: MIT */
/* fork.h: notices that this process is a forked child of the one tracked. */
#ifndef WT_FORK_H
#define WT_FORK_H

/* Once, under the engine's lock; a negative errno if there is no way. */
int wt_fork_init(void);

/*
 * Called first by every function that enters the kernel for a handle: in a
 * forked child the inherited descriptors act on the parent's memory
 * [K-fd-mm], so the first call opens new ones.  One load where all is well.
 */
void wt_fork_check(void);

#endif
