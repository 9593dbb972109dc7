/* SPDX-License-Identifier: MIT */
/*
 * live_race.c: a fault held open in the middle, and collections around it.
 *
 * The windows are too short to be hit by chance.  So the fault's own mprotect
 * is replaced: it is made in the middle of what another thread does meanwhile.
 */
#include "support_live.h"

#include <sys/syscall.h>
#include <unistd.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

static struct wtrack *t;
static struct mem m;
static __thread bool faulting;

/* What the main thread does before and after the page becomes writable. */
static void (*before)(void);
static void (*after)(void);
static pthread_barrier_t turn;
static pthread_t faulter;
static __thread bool ending_fault;

static void wait_turn(void)
{
	pthread_barrier_wait(&turn);
}

/* Lets the held fault make its page writable, and end. */
static void end_fault(void)
{
	wait_turn();
	wait_turn();
	wait_turn();
	pthread_join(faulter, NULL);
}

/* In the collector: protects the page, and before it looks on, the fault ends.
 */
static bool hold_collector(const long args[6], long *result)
{
	ending_fault = false;
	*result = syscall(SYS_mprotect, args[0], args[1], args[2]);
	end_fault();
	return true;
}

/* In the handler: waits for `before`, makes the call, waits for `after`. */
static bool hold(enum wt_sys id, const long args[6], long *result)
{
	if (id == WT_SYS_MPROTECT && ending_fault)
		return hold_collector(args, result);
	if (id != WT_SYS_MPROTECT || !faulting)
		return false;
	faulting = false;
	wait_turn();
	wait_turn();
	*result = syscall(SYS_mprotect, args[0], args[1], args[2]);
	wait_turn();
	wait_turn();
	return true;
}

static void *store_once(void *unused)
{
	(void)unused;
	faulting = true;
	store(&m, 3);
	return NULL;
}

static void nothing(void)
{
}

static void clear(void)
{
	struct wtrack_run runs[8];

	wtrack_collect(t, NULL, runs, 8, BOTH);
}

static void clear_around_the_end(void)
{
	ending_fault = true;
	clear();
	assert_false(ending_fault);
}

/* The page is writable by now: this store takes no fault. */
static void store_and_look(void)
{
	uint64_t faults = stats_of(t).faults;

	store(&m, 3);
	assert_int_equal(stats_of(t).faults, faults);
	assert_true(look_at(t, &m, 3) & WTRACK_RUN_WRITTEN);
}

static void run(void (*first)(void), void (*second)(void))
{
	t = open_on("mprotect");
	m = mem_map(MEM_ANON, 8, true);
	before = first;
	after = second;
	watch_pages(t, &m, 0, 8, 0);
	pthread_barrier_init(&turn, NULL, 2);
	at_the_door(hold);
	pthread_create(&faulter, NULL, store_once, NULL);
	wait_turn();
	before();
	if (after) {
		wait_turn();
		wait_turn();
		after();
		wait_turn();
		pthread_join(faulter, NULL);
	}
	at_the_door(NULL);
	assert_true(look_at(t, &m, 3) & WTRACK_RUN_WRITTEN);
	expect_pages(t, &m, BOTH, 3);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

/* [G1] The bit is set before the page becomes writable. */
static void a_store_let_in_by_anothers_fault_is_seen(void **state)
{
	(void)state;
	run(nothing, store_and_look);
}

/* [G1] A clearing before the page becomes writable heeds the fault. */
static void a_store_after_a_clearing_amid_a_fault_is_seen(void **state)
{
	(void)state;
	run(clear, store_and_look);
}

/* [G1] The bit is set again when a clearing came after the first time. */
static void a_store_whose_fault_met_a_clearing_is_seen(void **state)
{
	(void)state;
	run(clear, nothing);
}

/* [G1] The same, where the fault is over before the clearing looks for it. */
static void a_store_whose_fault_ended_amid_a_clearing_is_seen(void **state)
{
	(void)state;
	run(clear_around_the_end, NULL);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_IF(a_store_let_in_by_anothers_fault_is_seen,
			lacks_mprotect),
		CASE_IF(a_store_after_a_clearing_amid_a_fault_is_seen,
			lacks_mprotect),
		CASE_IF(a_store_whose_fault_met_a_clearing_is_seen,
			lacks_mprotect),
		CASE_IF(a_store_whose_fault_ended_amid_a_clearing_is_seen,
			lacks_mprotect),
	};

	return RUN_CASES("live_race", cases);
}
