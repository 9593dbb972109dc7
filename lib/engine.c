/* SPDX-License-Identifier: MIT */
/* engine.c: the state that all handles of a process share. */
#include "engine.h"
#include "sys.h"
#include "vma.h"

#include <pthread.h>
#include <sys/single_threaded.h>

#include <urcu/urcu-bp.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wtrack *handles;

/* Threads inside a section. */
static uint64_t inside;

/* A section is a fault or a scan: most end within so many turns of others. */
#define LOOKS 1000

static struct {
	uintptr_t start;
	uintptr_t end;
	uint64_t generation;
} moving;

/* Handles on each backend, and on any (they share the list of mappings). */
static unsigned users[WT_N_BACKENDS];
static unsigned all_users;

void wt_lock(sigset_t *saved)
{
	wt_signals_block(saved);
	pthread_mutex_lock(&lock);
}

void wt_unlock(const sigset_t *saved)
{
	pthread_mutex_unlock(&lock);
	wt_signals_restore(saved);
}

void wt_engine_reset_lock(void)
{
	pthread_mutex_init(&lock, NULL);
}

/*
 * Both sides change `inside` by read-modify-write (acq_rel): either the waiter
 * finds a reader in it, or the reader comes after the waiter in the order of
 * that word, and sees all that the waiter did before.
 */
void wt_read_enter(void)
{
	__atomic_fetch_add(&inside, 1, __ATOMIC_ACQ_REL);
	urcu_bp_read_lock();
}

void wt_read_leave(void)
{
	urcu_bp_read_unlock();
	__atomic_fetch_sub(&inside, 1, __ATOMIC_ACQ_REL);
}

/*
 * liburcu aborts if the membarrier(2) that it found when it was loaded fails
 * later, as a seccomp filter makes it.  Then all that is left is to wait for a
 * moment without readers.
 */
void wt_wait_for_readers(void)
{
	for (int i = 0; i < LOOKS || wt_sys_membarrier(); i += i < LOOKS) {
		if (!__atomic_fetch_add(&inside, 0, __ATOMIC_ACQ_REL))
			return;
		wt_sys_yield();
	}
	urcu_bp_synchronize_rcu();
}

void wt_section_enter(struct wt_section *section)
{
	section->entered = !__libc_single_threaded;
	if (!section->entered)
		return;
	wt_signals_block(&section->saved);
	wt_read_enter();
}

void wt_section_leave(const struct wt_section *section)
{
	if (!section->entered)
		return;
	wt_read_leave();
	wt_signals_restore(&section->saved);
}

/* ---- transitions ---- */

void wt_set_moving(uintptr_t start, uintptr_t end)
{
	/* Before it ends: who sees the end must see that something ended. */
	if (!end)
		__atomic_fetch_add(&moving.generation, 1, __ATOMIC_SEQ_CST);
	/* Empty first: nobody may pair a new bound with an old one. */
	__atomic_store_n(&moving.end, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&moving.start, start, __ATOMIC_SEQ_CST);
	__atomic_store_n(&moving.end, end, __ATOMIC_SEQ_CST);
}

static void load_moving(uintptr_t *start, uintptr_t *end)
{
	uintptr_t again;

	do {
		*end = __atomic_load_n(&moving.end, __ATOMIC_SEQ_CST);
		*start = __atomic_load_n(&moving.start, __ATOMIC_SEQ_CST);
		again = __atomic_load_n(&moving.end, __ATOMIC_SEQ_CST);
	} while (again != *end);
}

bool wt_is_moving(uintptr_t start, uintptr_t end)
{
	uintptr_t lo, hi;

	load_moving(&lo, &hi);
	return start < hi && lo < end;
}

void wt_clip_moving(uintptr_t *start, uintptr_t *end)
{
	uintptr_t lo, hi;

	load_moving(&lo, &hi);
	if (*start >= hi || lo >= *end)
		return;
	if (*start < lo)
		*end = lo;
	else
		*start = hi < *end ? hi : *end;
}

uint64_t wt_generation(void)
{
	return __atomic_load_n(&moving.generation, __ATOMIC_SEQ_CST);
}

uint64_t wt_lost_flags(struct wtrack *t, uintptr_t start, uintptr_t end,
		       uint64_t generation)
{
	/*
	 * In this order.  A watch that began after the finding and is in the
	 * table already is in transition still, or has moved the generation.
	 */
	if (!wt_table_covers(&t->table, start, end) ||
	    wt_is_moving(start, end) || wt_generation() != generation)
		return WTRACK_RUN_DEGRADED;
	wt_count(&t->count.lost, 1);
	return WTRACK_RUN_LOST;
}

/* ---- backends in use ---- */

int wt_backend_use(const struct wt_backend *be)
{
	unsigned *n = &users[wt_backend_index(be)];
	int rc = 0;

	/* Without the list of mappings much still works; it is asked each time.
	 */
	if (!all_users)
		wt_vma_open();
	if (!*n)
		rc = be->start();
	*n += !rc;
	all_users += !rc;
	if (!all_users)
		wt_vma_close();
	return rc;
}

void wt_backend_release(const struct wt_backend *be)
{
	if (!--users[wt_backend_index(be)])
		be->stop();
	if (!--all_users)
		wt_vma_close();
}

/* ---- handles ---- */

struct wtrack *wt_first_handle(void)
{
	return __atomic_load_n(&handles, __ATOMIC_ACQUIRE);
}

struct wtrack *wt_next_handle(const struct wtrack *t)
{
	return __atomic_load_n(&t->next, __ATOMIC_ACQUIRE);
}

void wt_add_handle(struct wtrack *t)
{
	t->next = handles;
	__atomic_store_n(&handles, t, __ATOMIC_RELEASE);
}

void wt_remove_handle(struct wtrack *t)
{
	struct wtrack **link = &handles;

	while (*link != t)
		link = &(*link)->next;
	__atomic_store_n(link, t->next, __ATOMIC_RELEASE);
}

/* ---- fork ---- */

/*
 * All of a handle's ranges are dirty once more, and registered here.  One that
 * cannot be is not there (MADV_DONTFORK): collections will find it lost.
 */
static void adopt_ranges(struct wtrack *t)
{
	struct wt_range r[WT_LEAF_RANGES];
	uintptr_t at = 0;
	size_t n;

	while ((n = wt_table_peek(&t->table, at, r))) {
		for (size_t i = 0; i < n; i++) {
			struct wt_span s = { r[i].start, r[i].end, r[i].attr,
					     false };

			__atomic_store_n(r[i].fresh, r[i].start,
					 __ATOMIC_RELEASE);
			wt_be(t)->adopt(t, &s);
		}
		at = r[n - 1].end;
	}
}

/* [G7] A handle that cannot track says so in every run. */
static void give_up(struct wtrack *t)
{
	const struct wt_backend *was = wt_be(t);

	wt_backend_use(&wt_backend_all);
	t->caps = wt_backend_all.caps;
	__atomic_store_n(&t->be, &wt_backend_all, __ATOMIC_RELEASE);
	wt_backend_release(was);
}

void wt_engine_revive(bool forked)
{
	int result[WT_N_BACKENDS] = { 0 };

	wt_vma_close();
	if (all_users)
		wt_vma_open();
	moving.start = moving.end = 0;
	/* Those who were inside are threads of the parent. */
	inside = 0;
	for (size_t i = 0; i < WT_N_BACKENDS; i++)
		if (users[i])
			result[i] = wt_backends[i]->revive(forked);
	for (struct wtrack *t = handles; t; t = t->next) {
		if (result[wt_backend_index(wt_be(t))])
			give_up(t);
		adopt_ranges(t);
		__atomic_store_n(&t->lossy, 0, __ATOMIC_RELAXED);
	}
}
