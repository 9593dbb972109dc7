/* SPDX-License-Identifier: MIT */
/*
 * backend.h: the door between the tracker and the rooms behind it.
 *
 * A room knows one mechanism and nothing of handles, cursors or options.
 * Everything that differs between rooms is in this struct, as data or as a
 * function; callers have no conditionals by backend.
 */
#ifndef WT_BACKEND_H
#define WT_BACKEND_H

#include "region.h"
#include "sink.h"
#include "uapi.h"

struct wtrack;
struct wt_doors;

/*
 * Flags of wtrack_collect() that only the library sets.  LOOK: what is reported
 * is armed next by the caller, who learns then what is lost.  PART: of a pass
 * that wtrack_split() cut.
 */
#define WT_LOOK 0x100u
#define WT_PART 0x200u

/* A stretch to collect: adjacent ranges of equal attributes, or one range. */
struct wt_span {
	uintptr_t start;
	uintptr_t end;
	uint64_t attr;
	bool mapped; /* for collect: there is no gap in it [K-scan-gap] */
};

/* The block of `s` that a store at `addr` makes dirty: a grain, cut to `s`. */
static inline struct wt_span wt_block_at(const struct wt_span *s,
					 uintptr_t addr)
{
	size_t grain = wt_range_grain(s->attr);
	uintptr_t start = addr & ~(grain - 1), end = start + grain;
	struct wt_span block = { start > s->start ? start : s->start,
				 end < s->end ? end : s->end, s->attr,
				 s->mapped };

	return block;
}

struct wt_backend {
	const char *name;
	uint64_t caps;      /* WTRACK_CAP_* when the self-test finds them all */
	uint64_t attr_mask; /* attributes that keep ranges apart */
	bool thread;        /* starts one: taken only if that is allowed */
	bool only_named;    /* disturbs others: taken only if it is named */
	bool bitmap;        /* uses the dirtymap in any case */
	bool grains;        /* takes a grain of more than a page */
	int signal;         /* by which write faults arrive; 0: none does */
	bool whole;         /* arms all of the process or nothing */
	/*
	 * Pages of the first stretch of a call, doubled for each that follows;
	 * 0: no bound.  Where dirty pages split mappings, a look at all of
	 * them in each call of few runs would make a collection quadratic.
	 */
	size_t first_pages;

	void *room; /* what rooms that share functions do not share */

	/* Opens what the process needs, once; closes it.  Engine's lock. */
	int (*start)(void);
	void (*stop)(void);

	/*
	 * Starts tracking [start, end), clean, or dirty if `dirty`.  The range
	 * is not in any table yet, faults on it are retried meanwhile.
	 * On error all is as before.  Engine's lock.
	 */
	int (*enroll)(struct wtrack *t, const struct wt_span *s, bool dirty);

	/*
	 * Stops tracking; no collector or other enrolling is under way there.
	 * On error the range is still tracked.  Engine's lock.
	 */
	int (*withdraw)(struct wtrack *t, const struct wt_span *s);

	/*
	 * Adds the dirty pages of [*at, s->end) to the sink, and makes clean
	 * what it added if `flags`, those of wtrack_collect(), say so.  Stops
	 * where the sink is full and leaves
	 * `*at` there; else `*at` becomes s->end.  Cannot fail: what is not
	 * known is added as a marked superset.  [G3] No locks, no allocation.
	 */
	void (*collect)(struct wtrack *t, const struct wt_span *s,
			uintptr_t *at, struct wt_sink *sink, unsigned flags);

	/*
	 * Stores up to `n` stretches of [*at, end) that have memory, moves
	 * `*at` to where it stopped, and returns how many, or a negative errno.
	 * NULL: it cannot tell, or arming costs nothing where there is none.
	 * Private anonymous memory.  No locks, no allocation.
	 */
	long (*populated)(struct wtrack *t, uintptr_t *at, uintptr_t end,
			  struct wt_page_region *part, size_t n);

	/* Makes all of [start, end) clean without looking; likewise `flags`. */
	int (*arm)(struct wtrack *t, const struct wt_span *s, unsigned flags);

	/* Makes all of [start, end) dirty. */
	int (*mark)(struct wtrack *t, const struct wt_span *s);

	/* 0, or why tracking is lost at `addr`. */
	int (*inspect)(struct wtrack *t, const struct wt_span *s,
		       uintptr_t addr);

	/*
	 * In a child, by fork(2) or (not `forked`) by a bare clone, after which
	 * libc starts no threads: opens again; takes over one range, all dirty.
	 */
	int (*revive)(bool forked);
	void (*adopt)(struct wtrack *t, const struct wt_span *s);

	/*
	 * Rooms with a `signal` only: resolves a write fault at `addr`, which
	 * lies in `s`, so that the store can be retried.  Signal handler.
	 */
	bool (*resolve)(struct wtrack *t, const struct wt_span *s,
			uintptr_t addr);
};

/* All rooms, best first: the one place that ranks them is tracker.c. */
#define WT_N_BACKENDS 7
extern const struct wt_backend *const wt_backends[WT_N_BACKENDS];
/* The place of a room in that list. */
size_t wt_backend_index(const struct wt_backend *be);

extern const struct wt_backend wt_backend_scan;
extern const struct wt_backend wt_backend_async;
extern const struct wt_backend wt_backend_wp;
extern const struct wt_backend wt_backend_monitor;
extern const struct wt_backend wt_backend_softdirty;
extern const struct wt_backend wt_backend_mprotect;
extern const struct wt_backend wt_backend_all;

/* What a room's start() learned about its doors, for wtrack_info(). */
const struct wt_doors *wt_scan_doors(void);

#endif
