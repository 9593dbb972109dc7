/* SPDX-License-Identifier: MIT */
/*
 * kbench.h: what the parts of kbench share: a case, a trial of it, and the
 * tools that cases are made of.
 *
 * kbench measures paths of the kernel that tracking written pages stands on.
 * Where guest time counts instructions (qemu's -icount) its nanoseconds are
 * instructions, and the same kernel gives the same figures again.
 */
#ifndef KBENCH_H
#define KBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uapi.h"

#define PAGE      ((size_t)4096)
#define HUGE_PAGE ((size_t)2 << 20)
#define KIB       ((size_t)1 << 10)
#define MIB       ((size_t)1 << 20)
#define GIB       ((size_t)1 << 30)

/* Values of a counter that this kernel does not have. */
#define COUNTER_MISSING UINT64_MAX

struct trial;

/* How the cases of a family are played.  Memory that set_up makes is kept for
 * the next case with the same steps and size, since making it is what costs. */
struct steps {
	/* Returns why the case cannot be played here, or NULL. */
	const char *(*set_up)(struct trial *t);
	/* Before each iteration, not measured. */
	void (*prepare)(struct trial *t);
	/* What is measured. */
	void (*run)(struct trial *t);
	/* After each iteration: dies if it was not what it should be. */
	void (*check)(struct trial *t);
	void (*tear_down)(struct trial *t);
};

struct kcase {
	const char *name;
	const struct steps *steps;
	/* Of memory that is worked on; divided by 16 at the small scale. */
	size_t bytes;
	/* What the family's steps tell its cases apart by. */
	int way;
	/* Every so many pages is written before; 0: none. */
	unsigned every;
	/* If not the default. */
	int iterations;
};

/* The counters of one iteration, or of the machine since it started. */
struct counters {
	uint64_t faults;
	uint64_t full;
	uint64_t one;
	uint64_t remote;
	uint64_t splits;
	/* Where flushes are broadcast: how often one was waited for, and the
	 * instructions that asked for them. */
	uint64_t rounds;
	uint64_t operations;
};

struct trial {
	const struct kcase *kcase;
	/* From 0, which is not counted. */
	int iteration;
	/* Pages or calls in one iteration; set by prepare, run or check. */
	size_t units;
	/* Of the iteration, for its check. */
	struct counters counters;
	/* Faults of the iteration that ended in a signal: the kernel counts
	 * none but those that it resolves. */
	size_t signals;
	/* The memory, as long as the case says. */
	unsigned char *base;
	size_t bytes;
	/* What it was cut from. */
	unsigned char *mapping;
	size_t mapped;
	/* If it is tracked. */
	int uffd;
	int pagemap;
	struct wt_page_region *regions;
	size_t nregions;
	/* Regions of the last scan, for the check. */
	size_t found;
};

struct family {
	const struct kcase *cases;
	size_t ncases;
};

/* A family of an array of cases, and the beginning of a row of that. */
#define FAMILY(array)                                     \
	{                                                 \
		array, sizeof(array) / sizeof((array)[0]) \
	}
#define ROW(name_, steps_, bytes_) \
	.name = name_, .steps = &steps_##_steps, .bytes = (bytes_)

extern const struct family family_arm, family_entries, family_fault,
	family_huge, family_protect, family_scan, family_resolve, family_split,
	family_vmas, family_written;

struct settings {
	/* 0: as each case says. */
	int iterations;
	bool small;
};

/* measure.c */
void measure(const struct kcase *const *cases, size_t n,
	     const struct settings *settings);
__attribute__((format(printf, 1, 2))) _Noreturn void die(const char *fmt, ...);

/* counters.c */
void counters_open(void);
void counters_read(struct counters *c);

/* beside.c: a thread on the second processor. */
void beside_start(void);
void beside_stop(void);

/* memory.c: mappings that are read, written and told apart by page size. */
void map_pages(struct trial *t);
const char *map_huge_pages(struct trial *t);
void map_afresh(struct trial *t);
void unmap_pages(struct trial *t);
void discard(struct trial *t);
void protect(const void *addr, size_t len, int prot);
void write_every(const struct trial *t, size_t stride);
size_t huge_bytes(void);

/* track.c: userfaultfd and PAGEMAP_SCAN. */
const char *track(struct trial *t);
const char *track_async(struct trial *t);
const char *track_sync(struct trial *t);
void track_again(struct trial *t);
void untrack(struct trial *t);
void arm(const struct trial *t, bool on);
void arm_part(const struct trial *t, const unsigned char *addr, size_t len,
	      bool on);
size_t scan(const struct trial *t, uint64_t flags, uint64_t categories);
size_t scan_get(const struct trial *t);
size_t pages_in(const struct trial *t, size_t nregions);
size_t scan_get_arm(const struct trial *t);
void scan_arm(const struct trial *t);
void expect_written(const struct trial *t, size_t pages);

#endif
