/* SPDX-License-Identifier: MIT */
/*
 * calls.h: what ktest and stress ask of the kernel: to track writes
 * (userfaultfd), to collect them (PAGEMAP_SCAN), and to show counters.
 *
 * The calls return what the kernel does: -1 and errno where it refuses.
 */
#ifndef KLAB_CALLS_H
#define KLAB_CALLS_H

#include "uapi.h"

#include <stdbool.h>
#include <stddef.h>

#define PAGE       ((size_t)4096)
#define HUGE_PAGES ((size_t)512)
#define HUGE       (HUGE_PAGES * PAGE)

/* Categories beside those that the library uses. */
#define CATEGORY_PFNZERO (1ull << 5)
#define CATEGORY_HUGE    (1ull << 6)

#define FEATURES_SYNC \
	(WT_FEATURE_PAGEFAULT_WP | WT_FEATURE_WP_HUGE_SHM | WT_FEATURE_WP_UNPOP)
#define FEATURES_ASYNC (FEATURES_SYNC | WT_FEATURE_WP_ASYNC)

/* madvise(2) of newer kernels than the headers know. */
#define ADVICE_COLD     20
#define ADVICE_PAGEOUT  21
#define ADVICE_COLLAPSE 25

int uffd_open(uint64_t features);
int uffd_register(int uffd, void *start, size_t size);
int uffd_arm(int uffd, void *start, size_t size, bool on);

int pagemap_open(void);

/* A scan with exactly the masks that the kernel has short loops for. */
struct wt_pm_scan_arg scan_of(void *start, size_t size,
			      struct wt_page_region *regions, size_t room,
			      uint64_t flags);
long pagemap_scan(int pagemap, struct wt_pm_scan_arg *arg);

/* The entry of one page in pagemap. */
uint64_t pagemap_entry(int pagemap, const void *page);
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_PRESENT (1ull << 63)

/* The number after NAME in a file of such lines; -1 if there is none. */
long counter(const char *file, const char *name);

/* /proc/sys/vm/NAME; -1 if there is none. */
long sysctl_get(const char *name);
int sysctl_set(const char *name, long value);

/* Numbers that are the same for the same seed (xorshift). */
struct dice {
	uint64_t state;
};
uint64_t roll(struct dice *dice, uint64_t sides);

#endif
