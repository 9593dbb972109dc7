/* SPDX-License-Identifier: MIT */
/*
 * hot.h: what a policy adds to a collection, above the door.
 *
 * A room tells what is dirty, un-armed pages included, and arms what it is told
 * to.  Between the two the policy decides.  To look first and then to arm
 * exactly what was reported loses nothing, with writers running, if contents
 * are read after the arming [K-get-then-arm].  [G1]
 *
 * hot.c looks, hot_piece.c decides on what was reported, with policy.c, and
 * hot_arm.c arms it; lazy.c knows memory that was never used, heat.c remembers.
 */
#ifndef WT_HOT_H
#define WT_HOT_H

#include "engine.h"

/* One pass over a stretch under a policy. */
struct wt_hot {
	struct wtrack *t;
	const struct wt_backend *be;
	const struct wt_span *s;
	struct wt_policy policy;
	const struct wt_costs *costs;
	struct wt_sink *sink; /* NULL: the caller knows what is dirty */
	unsigned flags;       /* of wtrack_collect() */
	unsigned tick;
	unsigned shift;   /* of a page, asked once */
	uintptr_t lo, hi; /* reported, and to be armed with what follows */
	bool wide;        /* with clean pages in between */
	bool put_off;     /* by a room that arms all or nothing */
	int rc;           /* the first failure to arm */
	struct wt_hot_counts {
		uint64_t presumed, avoided, deferred;
		uint64_t rechecks, proved;
	} count;
};

/* The room's collect() and arm(), for stretches with WT_POLICY. */
void wt_hot_collect(struct wtrack *t, const struct wt_span *s, uintptr_t *at,
		    struct wt_sink *sink, unsigned flags);
int wt_hot_clear(struct wtrack *t, const struct wt_span *s);

/* Arms an initial stretch, but for what is unused or advised otherwise. */
int wt_hot_initial(struct wtrack *t, const struct wt_span *s, unsigned flags);

void wt_hot_next_tick(struct wtrack *t);

/*
 * A clearing call starts, and ends.  A pass is one or more calls, each of which
 * starts where the one before ended or behind that: one that does not begins
 * the next pass, and a new tick.
 */
static inline void wt_hot_begin_call(struct wtrack *t, uintptr_t at)
{
	if (__atomic_load_n(&t->hot.on, __ATOMIC_RELAXED) &&
	    at < __atomic_load_n(&t->hot.pass_at, __ATOMIC_RELAXED))
		wt_hot_next_tick(t);
}

static inline void wt_hot_end_call(struct wtrack *t, uintptr_t at)
{
	if (__atomic_load_n(&t->hot.on, __ATOMIC_RELAXED))
		__atomic_store_n(&t->hot.pass_at, at, __ATOMIC_RELAXED);
}

/* ---- between the files named above ---- */

/* What a look reported of [.., reached). */
struct wt_batch {
	const struct wtrack_run *run;
	size_t n;
	size_t i; /* the first that is not done with */
	uintptr_t reached;
};

/* Decides and reports up to `reached`; false when the sink is full. */
bool wt_hot_take(struct wt_hot *h, struct wt_batch *b, uintptr_t *at);
/* Sums up [at, *end), which ends before what is taken in another way. */
struct wt_piece wt_hot_sum_up(const struct wt_hot *h, const struct wt_batch *b,
			      uintptr_t at, uintptr_t *end);

/* Arms [lo, hi), now or with what follows. */
void wt_hot_queue(struct wt_hot *h, uintptr_t lo, uintptr_t hi);
void wt_hot_flush(struct wt_hot *h);
/* Looks at [*at, end) and clears it in one; false when the sink is full. */
bool wt_hot_fuse(struct wt_hot *h, uintptr_t *at, uintptr_t end);
/* What was reported gets its new byte and is armed or left. */
void wt_hot_settle(struct wt_hot *h, uintptr_t lo, uintptr_t hi, uint8_t byte,
		   const struct wt_next *next, bool defer);
/* Reports; true without a sink. */
bool wt_hot_emit(const struct wt_hot *h, uintptr_t lo, uintptr_t hi,
		 uint64_t flags, uint8_t byte);
/* The end of the block of pages that one store at `at` makes dirty. */
uintptr_t wt_hot_unit_end(const struct wt_hot *h, uintptr_t at, uintptr_t end);
struct wt_next wt_hot_next(const struct wt_hot *h, uint8_t byte, uintptr_t at);
/* [*at, end) was never cleared: only what is populated counts. */
bool wt_hot_take_lazy(struct wt_hot *h, uintptr_t *at, uintptr_t end);

static inline bool wt_is_lazy(const struct wt_span *s, uint8_t byte)
{
	return (s->attr & WT_LAZY) && byte == WT_BYTE_FRESH;
}

#endif
