/* SPDX-License-Identifier: MIT */
/* model_nolost_hot.c: no store is lost where hot pages are left un-armed. */
#include "nolost.h"

/* Cases, times most backends: the share of the time that each gets. */
#define SHARES (9 * 3)

static void nothing_is_lost_of_hot_pages(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, &rescan_soon, nolost_store_hot,
				    nolost_store_hot, nolost_collect_by_parts },
		   SHARES);
}

static void nothing_is_lost_of_pages_hot_late(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, &copy_soon, nolost_store_hot,
				    nolost_store_somewhere,
				    nolost_collect_by_parts },
		   SHARES);
}

static void nothing_hot_is_lost_by_looks_and_clearings(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, &rescan_soon, nolost_store_hot,
				    nolost_store_hot, nolost_look_and_clear },
		   SHARES);
}

static void nothing_hot_is_lost_by_snapshots(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, &copy_soon, nolost_store_hot,
				    nolost_store_hot, nolost_collect_snapshot },
		   SHARES);
}

static void nothing_hot_is_lost_by_two_collectors(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_THP, &rescan_soon, nolost_store_hot,
				    nolost_store_somewhere,
				    nolost_collect_by_two },
		   SHARES);
}

static void nothing_hot_the_kernel_writes_is_lost(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, &rescan_soon, nolost_store_hot,
				    nolost_read_somewhere,
				    nolost_collect_by_parts },
		   SHARES);
}

static void nothing_hot_is_lost_while_ranges_come_and_go(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, &copy_soon, nolost_store_hot,
				    nolost_come_and_go,
				    nolost_collect_by_parts },
		   SHARES);
}

static void nothing_hot_is_lost_of_writers_at_rest(void **state)
{
	nolost_run(*state,
		   (struct nolost){
			   MEM_ANON, &rescan_soon, nolost_store_and_rest,
			   nolost_store_and_rest, nolost_collect_at_rest },
		   SHARES);
}

static void nothing_hot_is_lost_by_clearings_at_rest(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, &copy_soon, nolost_store_and_rest,
				    nolost_store_and_rest,
				    nolost_look_and_clear_at_rest },
		   SHARES);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(nothing_is_lost_of_hot_pages),
		CASE_EACH(nothing_is_lost_of_pages_hot_late),
		CASE_EACH(nothing_hot_is_lost_by_looks_and_clearings),
		CASE_EACH(nothing_hot_is_lost_by_snapshots),
		CASE_EACH(nothing_hot_is_lost_by_two_collectors),
		CASE_EACH(nothing_hot_the_kernel_writes_is_lost),
		CASE_EACH(nothing_hot_is_lost_while_ranges_come_and_go),
		CASE_EACH(nothing_hot_is_lost_of_writers_at_rest),
		CASE_EACH(nothing_hot_is_lost_by_clearings_at_rest),
	};

	return RUN_CASES("model_nolost_hot", cases);
}
