/* SPDX-License-Identifier: MIT */
/* model_nolost.c: no store is lost under running writers, see nolost.h. */
#include "nolost.h"

/* Cases, times most backends: the share of the time that each gets. */
#define SHARES (8 * 3)

static void nothing_is_lost(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, NULL, nolost_store_somewhere,
				    nolost_store_somewhere,
				    nolost_collect_by_parts },
		   SHARES);
}

static void nothing_the_kernel_writes_is_lost(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, NULL, nolost_store_somewhere,
				    nolost_read_somewhere,
				    nolost_collect_by_parts },
		   SHARES);
}

static void nothing_is_lost_while_ranges_come_and_go(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, NULL, nolost_store_somewhere,
				    nolost_come_and_go,
				    nolost_collect_by_parts },
		   SHARES);
}

static void nothing_is_lost_by_snapshots(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, NULL, nolost_store_somewhere,
				    nolost_store_somewhere,
				    nolost_collect_snapshot },
		   SHARES);
}

static void nothing_is_lost_in_huge_pages(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_THP, NULL, nolost_store_somewhere,
				    nolost_store_somewhere,
				    nolost_collect_by_parts },
		   SHARES);
}

static void nothing_is_lost_in_shared_memory(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_MEMFD, NULL, nolost_store_somewhere,
				    nolost_store_somewhere,
				    nolost_collect_by_parts },
		   SHARES);
}

static void nothing_is_lost_by_looks_and_clearings(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_ANON, NULL, nolost_store_somewhere,
				    nolost_store_somewhere,
				    nolost_look_and_clear },
		   SHARES);
}

static void nothing_is_lost_by_two_collectors(void **state)
{
	nolost_run(*state,
		   (struct nolost){ MEM_THP, NULL, nolost_store_somewhere,
				    nolost_store_somewhere,
				    nolost_collect_by_two },
		   SHARES);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(nothing_is_lost),
		CASE_EACH(nothing_the_kernel_writes_is_lost),
		CASE_EACH(nothing_is_lost_while_ranges_come_and_go),
		CASE_EACH(nothing_is_lost_by_snapshots),
		CASE_EACH(nothing_is_lost_in_huge_pages),
		CASE_ON_KIND(nothing_is_lost_in_shared_memory, MEM_MEMFD, 0,
			     NULL),
		CASE_EACH(nothing_is_lost_by_looks_and_clearings),
		CASE_EACH(nothing_is_lost_by_two_collectors),
	};

	return RUN_CASES("model_nolost", cases);
}
