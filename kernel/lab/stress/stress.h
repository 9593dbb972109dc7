/* SPDX-License-Identifier: MIT */
/*
 * stress.h: threads that store, threads that collect and copy, and threads that
 * do to the same memory all that the kernel offers; at each standstill the
 * memory must be what was copied, but for what is reported then.
 */
#ifndef STRESS_H
#define STRESS_H

#include "../ktest/calls.h"

#include <pthread.h>
#include <stdatomic.h>

/* One mapping.  Whoever uses it holds the lock shared, who moves it alone. */
struct area {
	const char *name;
	char *start;
	size_t pages;
	bool shared;      /* a child's stores would be the parent's */
	bool discardable; /* what MADV_DONTNEED takes away reads written */
	bool huge;
	pthread_rwlock_t lock;
	/* Of who scans it and copies; no copy is older than its report. */
	pthread_mutex_t scanning;
	uint64_t *copies;
};

#define AREAS 6
extern struct area areas[AREAS];

/* What was done how often; each must have been done. */
enum deed {
	STORES,
	SCANS,
	SCANS_OF_PARTS,
	SCANS_THEN_ARMED,
	PAGES_REPORTED,
	FORKS,
	MOVES,
	DISCARDS,
	COLLAPSES,
	SPLITS,
	PAGES_SWAPPED,
	FLIPS,
	UNARMED,
	STANDSTILLS,
	DEEDS
};
extern _Atomic uint64_t done[DEEDS];

struct settings {
	unsigned seconds;
	uint64_t seed;
	bool broken; /* arms without a report, so that stores are lost */
};
extern struct settings settings;
extern int uffd, pagemap;

/* Ends the program: the kernel refuses what it must not. */
_Noreturn void give_up(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* ---- areas.c ---- */

void make_areas(void);
struct area *some_area(struct dice *dice);
/* A part of it, and its size in bytes. */
char *some_part(const struct area *area, struct dice *dice, size_t *size);
void move_area(struct area *area, struct dice *dice);
char *page_of(const struct area *area, size_t page);
/* Where each page holds its counter. */
_Atomic uint64_t *counter_of(const struct area *area, size_t page);
void copy_pages(struct area *area, uint64_t start, uint64_t end);
/* The number of pages that hold something else than their copies. */
size_t compare(struct area *area);

/* ---- work.c: what threads do, once each time ---- */

typedef void deed_of(struct dice *dice);

deed_of store_burst, scan_whole, scan_part, scan_then_arm;
void scan_all(struct area *area);

/* ---- disturb.c ---- */

deed_of fork_child, move_some, discard_some, collapse_some, split_some;
deed_of page_out_some, flip_some, unarm_some, arm_unreported;

#endif
