/* SPDX-License-Identifier: MIT */
/*
 * engine.h: what all handles of a process share, and the handle itself.
 *
 * Locks: `lock` guards the list of handles, every table and backend start and
 * stop.  Only open, close, watch and unwatch take it (and the first call after
 * a fork); it nests inside nothing, and urcu's locks nest inside it.
 *
 * RCU: a fault handler, and a collection that clears, run inside a read-side
 * section; unwatch and close wait for them before they give memory back.  Both
 * kinds of section run with signals blocked, by sa_mask or by wt_section_enter,
 * so no suspended thread is ever inside one, and synchronize_rcu(), which
 * itself waits with signals blocked, always ends.  [G4]
 */
#ifndef WT_ENGINE_H
#define WT_ENGINE_H

#include "backend.h"
#include "policy.h"
#include "uffd.h"
#include "wtrack.h"

#include <signal.h>

struct wt_counters {
	uint64_t collections;
	uint64_t runs;
	uint64_t kernel_calls;
	uint64_t faults;
	uint64_t widened;
	uint64_t degraded;
	uint64_t lost;
	uint64_t handler_replaced;
};

/* Of policies other than exact; hot.c counts. */
struct wt_hot_stats {
	bool on;           /* a range is, or was, under a policy */
	uint64_t tick;     /* passes begun: the time of a policy */
	uintptr_t pass_at; /* where the last clearing call ended */
	uint64_t presumed; /* the public counts: */
	uint64_t avoided;
	uint64_t deferred;
	uint64_t rechecks;
	uint64_t rechecks_dirty;
	uint64_t rechecks_clean;
	uint64_t arms_run;
	uint64_t arms_wide;
	uint64_t arms_fused;
	uint64_t exact;         /* ranges without memory for state */
	unsigned caution;       /* epochs more until a page is hot */
	uint64_t caution_at;    /* the tick of its last change */
	uint64_t probes_now;    /* pages armed to re-check in this tick */
	uint64_t probes_before; /* and in the one before */
	uint64_t proved_now;    /* of which so many were found dirty */
};

/* A whole pass: its parts (wtrack_split) have shares that sum up to it. */
#define WT_PASS ((uint64_t)1 << 32)

struct wtrack {
	const struct wt_backend *be; /* atomic: a forked child may change it */
	uint64_t caps;
	struct wtrack *next; /* in the engine's list, under RCU */
	struct wt_table table;
	uint64_t epoch;
	uint64_t lossy;          /* a registration was found lost */
	bool hosted;             /* the program has its own signal handlers */
	unsigned grain_shift;    /* log2 of the grain that was asked for */
	struct wt_policy policy; /* of ranges to come; engine's lock */
	uint64_t pass;           /* shares collected of the pass under way */
	struct wt_counters count;
	struct wt_hot_stats hot;
	uint64_t memory; /* bytes mapped for this handle */
};

/* Between wt_lock() and wt_unlock() a thread cannot be suspended by a signal.
 */
void wt_lock(sigset_t *saved);
void wt_unlock(const sigset_t *saved);

/* The list of handles; read inside a section or under the lock. */
struct wtrack *wt_first_handle(void);
struct wtrack *wt_next_handle(const struct wtrack *t);

/* A read-side section where signals are blocked already: a handler. */
void wt_read_enter(void);
void wt_read_leave(void);
/*
 * Waits for all who are inside a section.  Usually nobody is, and one look
 * says so; synchronize_rcu(), which polls every 10 ms with signals blocked,
 * is for when somebody always is.
 */
void wt_wait_for_readers(void);

/*
 * A read-side section that a signal cannot suspend.  A process of one thread
 * needs none, and is spared two system calls.
 */
struct wt_section {
	bool entered;
	sigset_t saved;
};
void wt_section_enter(struct wt_section *section);
void wt_section_leave(const struct wt_section *section);

/*
 * [start, end) is in transition: watch or unwatch works on it.  Collectors act
 * as if it were not watched, faults on it are retried.  One at a time, under
 * the lock; 0, 0 ends it and moves the generation.
 */
void wt_set_moving(uintptr_t start, uintptr_t end);
bool wt_is_moving(uintptr_t start, uintptr_t end);
/*
 * Cuts from [*start, *end) what is moving: up to it, or behind it.  Collectors
 * call it inside their section, so that a transition that they do not see here
 * waits for them.
 */
void wt_clip_moving(uintptr_t *start, uintptr_t *end);
/* Counts the ends of transitions: a fault may have been taken before one. */
uint64_t wt_generation(void);

/*
 * How to flag a stretch that was found lost: WTRACK_RUN_LOST, counted, unless a
 * watch or unwatch came between (`generation` is from before the finding).
 */
uint64_t wt_lost_flags(struct wtrack *t, uintptr_t start, uintptr_t end,
		       uint64_t generation);

static inline const struct wt_backend *wt_be(const struct wtrack *t)
{
	return __atomic_load_n(&t->be, __ATOMIC_ACQUIRE);
}

static inline void wt_count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/*
 * Whether somebody else's handler stands where ours was, counted.  Nothing is
 * done about it: who passes faults on may stand there, and ours put before it
 * again would be called in a circle.
 */
bool wt_handler_replaced(struct wtrack *t);

/* Counts a handle in or out of a backend, which starts with the first. */
int wt_backend_use(const struct wt_backend *be);
void wt_backend_release(const struct wt_backend *be);

/* The list of handles; under the lock.  A removed one may still be read. */
void wt_add_handle(struct wtrack *t);
void wt_remove_handle(struct wtrack *t);

/* In a forked child, with the lock: everything is opened again, all dirty. */
void wt_engine_revive(bool forked);
/* In a forked child: the lock may be held by a thread that is not here. */
void wt_engine_reset_lock(void);

/* Whether its nature, and not this machine, lets it serve these options. */
bool wt_is_eligible(const struct wt_backend *be,
		    const struct wtrack_options *o);
/* The backend that open takes, with what it can do here; with the lock held. */
int wt_pick_locked(const struct wtrack_options *o,
		   const struct wt_backend **out, uint64_t *caps);

/* The bodies of open, close, watch and unwatch, with the lock held. */
int wt_open_locked(const struct wt_backend *be, uint64_t caps,
		   const struct wtrack_options *o, struct wtrack **out);
void wt_close_locked(struct wtrack *t);
int wt_watch_locked(struct wtrack *t, uintptr_t start, uintptr_t end,
		    unsigned flags);
int wt_unwatch_locked(struct wtrack *t, uintptr_t start, uintptr_t end);

/* NULL is all of the handle. */
static inline bool wt_cursor_is_bad(const struct wtrack_cursor *at)
{
	return at &&
	       (at->share > WT_PASS || (at->share && !at->end) ||
		at->reserved || ((at->next | at->end) & (wt_page_size() - 1)));
}

/*
 * The body of wtrack_collect(): appends to the sink.  Moves `*at`, at most to
 * `limit`; less than `limit` means that the sink is full.
 */
void wt_collect(struct wtrack *t, uintptr_t *at, uintptr_t limit,
		struct wt_sink *sink, unsigned flags);

#endif
