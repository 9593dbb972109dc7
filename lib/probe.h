/* SPDX-License-Identifier: MIT */
/*
 * probe.h: what the kernel lets this process do, found out by doing it.
 *
 * Nothing here knows of handles, or touches the descriptors that they use.
 */
#ifndef WT_PROBE_H
#define WT_PROBE_H

#include "wtrack.h"

/*
 * Fresh memory and, where it is needed, a fresh userfaultfd that has it
 * registered: nothing of one behaviour reaches the next.
 */
struct wt_stage {
	int pagemap; /* descriptors; -1: none */
	int uffd;
	char *mem; /* a block that one page table covers, empty, registered */
	size_t page;
	size_t block; /* bytes */
	size_t mapped;
	void *map;
};

#define WT_NEEDS_UFFD    1u
#define WT_NEEDS_PAGEMAP 2u

/* A behaviour of the kernel, and how it is put to the test. */
struct wt_play {
	size_t result; /* offset in struct wtrack_probe */
	int (*play)(const struct wt_stage *s);
	unsigned needs;
	uint64_t features; /* of the userfaultfd */
	int kind;          /* of the mapping; 0: MAP_PRIVATE */
};
extern const struct wt_play wt_plays[];
extern const size_t wt_n_plays;

/* Fills in the doors to userfaultfd and to /proc. */
void wt_probe_doors(struct wtrack_probe *p);

/* Fills in the behaviours; after the doors, which decide what to try. */
void wt_probe_kernel(struct wtrack_probe *p);

/* A new userfaultfd with these features by the first door that is open. */
int wt_probe_uffd(const struct wtrack_probe *p, uint64_t features);

#endif
