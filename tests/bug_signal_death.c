/* SPDX-License-Identifier: MIT */
/*
 * bug_signal_death.c: a fault that nobody handles kills, at once.
 *
 * LunarG/gfxreconstruct PR#294: the tracker's handler returns without having
 * done anything, and the process faults for ever.  PR#728: a thread blocks
 * SIGSEGV, and the process is killed by its first tracked store: that cannot be
 * cured, and is documented.  ruby/ruby PR#6096: a real crash must stay one.
 */
#include "support_faults.h"

#include <sys/mman.h>

static void die_of(size_t fault)
{
	open_tracker();
	faults[fault]();
}

/* A case is a function: one for each fault. */
#define DEATH(name, number)            \
	static void name(void **state) \
	{                              \
		(void)state;           \
		die_of(number);        \
	}

DEATH(a_store_to_null_kills, 0)
DEATH(a_store_to_read_only_memory_kills, 1)
DEATH(a_load_without_access_kills, 2)
DEATH(a_store_without_access_kills, 3)
DEATH(a_store_to_watched_read_only_memory_kills, 4)
DEATH(a_load_from_watched_memory_without_access_kills, 5)
DEATH(a_jump_to_data_kills, 6)

static void a_fault_kills_though_it_is_ignored(void **state)
{
	(void)state;
	signal(SIGSEGV, SIG_IGN);
	die_of(1);
}

static void a_fault_kills_after_close(void **state)
{
	(void)state;
	open_tracker();
	wtrack_close(tracker);
	store_to(watched); /* not armed any more */
	store_to_read_only();
}

static void a_fault_kills_after_unwatch(void **state)
{
	(void)state;
	open_tracker();
	assert_int_equal(wtrack_unwatch(tracker, watched, page_size()), 0);
	store_to(watched);
	mprotect(watched, page_size(), PROT_READ);
	store_to(watched);
}

static void a_sent_signal_kills_by_default(void **state)
{
	(void)state;
	open_tracker();
	raise(SIGSEGV);
}

static void block_segv(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void a_tracked_store_kills_where_the_signal_is_blocked(void **state)
{
	(void)state;
	open_tracker();
	block_segv();
	store_to(watched);
}

/* And with it blocked, open itself is no danger. */
static void open_works_where_the_signal_is_blocked(void **state)
{
	struct wtrack *t;
	sigset_t now;

	(void)state;
	block_segv();
	t = open_on("mprotect");
	sigprocmask(SIG_BLOCK, NULL, &now);
	assert_int_equal(sigismember(&now, SIGSEGV), 1);
	wtrack_close(t);
}

static void where_no_signal_is_used_it_may_be_blocked(void **state)
{
	struct wtrack *t = open_on("scan");
	char *p = map_watched(t, 4);

	(void)state;
	block_segv();
	touch(p, 2);
	assert_dirty(t, p, 2);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_KILLED(a_store_to_null_kills, SIGSEGV, lacks_mprotect),
		CASE_KILLED(a_store_to_read_only_memory_kills, SIGSEGV,
			    lacks_mprotect),
		CASE_KILLED(a_load_without_access_kills, SIGSEGV,
			    lacks_mprotect),
		CASE_KILLED(a_store_without_access_kills, SIGSEGV,
			    lacks_mprotect),
		CASE_KILLED(a_store_to_watched_read_only_memory_kills, SIGSEGV,
			    lacks_mprotect),
		CASE_KILLED(a_load_from_watched_memory_without_access_kills,
			    SIGSEGV, lacks_mprotect),
		CASE_KILLED(a_jump_to_data_kills, SIGSEGV, lacks_mprotect),
		CASE_KILLED(a_fault_kills_though_it_is_ignored, SIGSEGV,
			    lacks_mprotect),
		CASE_KILLED(a_fault_kills_after_close, SIGSEGV, lacks_mprotect),
		CASE_KILLED(a_fault_kills_after_unwatch, SIGSEGV,
			    lacks_mprotect),
		CASE_KILLED(a_sent_signal_kills_by_default, SIGSEGV,
			    lacks_mprotect),
		CASE_KILLED(a_tracked_store_kills_where_the_signal_is_blocked,
			    SIGSEGV, lacks_mprotect),
		CASE_FRESH(open_works_where_the_signal_is_blocked,
			   lacks_mprotect),
		CASE_FRESH(where_no_signal_is_used_it_may_be_blocked,
			   lacks_scan),
	};

	return RUN_FRESH_OR_ALL("signal_death", cases, argc, argv);
}
