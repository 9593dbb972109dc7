/* SPDX-License-Identifier: MIT */
/*
 * fork.c: pthread_atfork, and a page that the kernel wipes in every child.
 *
 * The page catches children that no atfork handler sees: bare clone(2), the
 * system call fork, _Fork.  fork(2) is handled by the same path, lazily: a
 * child that only calls exec pays nothing.
 */
#include "fork.h"
#include "engine.h"
#include "mem.h"
#include "sys.h"
#include "uapi.h"

#include <pthread.h>

#include <urcu/urcu-bp.h>

enum state {
	WIPED = 0,    /* by the kernel: a child of a bare clone */
	ALIVE = 1,    /* this is the process that opened what is open */
	FORKED = 2,   /* a child; the atfork handler has put the locks right */
	REVIVING = 3, /* one thread of the child opens all again */
};

static int *state; /* on the page that is wiped; NULL before the first open */
static uint64_t mapped;
static sigset_t fork_mask; /* guarded by the engine's lock */

static void before_fork(void)
{
	sigset_t saved;

	/* This may itself be a child, whose locks are not right yet. */
	wt_fork_check();
	/* No version of a table is half built while the child is made. */
	wt_lock(&saved);
	fork_mask = saved;
	urcu_bp_before_fork();
}

static void after_fork_parent(void)
{
	sigset_t saved = fork_mask;

	urcu_bp_after_fork_parent();
	wt_unlock(&saved);
}

static void after_fork_child(void)
{
	sigset_t saved = fork_mask;

	urcu_bp_after_fork_child();
	wt_engine_reset_lock();
	__atomic_store_n(state, FORKED, __ATOMIC_RELEASE);
	wt_signals_restore(&saved);
}

int wt_fork_init(void)
{
	void *p;
	int rc;

	if (state)
		return 0;
	rc = wt_map(wt_page_size(), &p, &mapped);
	if (rc)
		return rc;
	rc = wt_sys_madvise((uintptr_t)p, wt_page_size(), WT_MADV_WIPEONFORK);
	if (!rc)
		rc = -pthread_atfork(before_fork, after_fork_parent,
				     after_fork_child);
	if (rc) {
		wt_unmap(p, wt_page_size(), &mapped);
		return rc;
	}
	*(int *)p = ALIVE;
	__atomic_store_n(&state, (int *)p, __ATOMIC_RELEASE);
	return 0;
}

/*
 * After a bare clone the locks are as some thread of the parent left them.
 * urcu's child handler drops the other threads from its registry and unlocks;
 * it also restores a mask that was never saved, so ours goes around it.
 */
static void put_locks_right(void)
{
	sigset_t mask;

	wt_signals_block(&mask);
	urcu_bp_after_fork_child();
	wt_engine_reset_lock();
	wt_signals_restore(&mask);
}

static void revive(int was)
{
	sigset_t saved;

	if (was == WIPED)
		put_locks_right();
	wt_lock(&saved);
	wt_engine_revive(was == FORKED);
	__atomic_store_n(state, ALIVE, __ATOMIC_RELEASE);
	wt_unlock(&saved);
}

void wt_fork_check(void)
{
	int *s = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
	int now;

	while (s && (now = __atomic_load_n(s, __ATOMIC_ACQUIRE)) != ALIVE) {
		if (now == REVIVING)
			wt_sys_yield();
		else if (__atomic_compare_exchange_n(s, &now, REVIVING, false,
						     __ATOMIC_ACQ_REL,
						     __ATOMIC_RELAXED))
			revive(now);
	}
}
