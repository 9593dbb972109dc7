/* SPDX-License-Identifier: MIT */
/*
 * fastpaths_async.c: what does a fault cost that the kernel resolves by itself,
 * and how much does it un-arm?
 */
#include "fastpaths_stage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/*
 * One page in each block: a fault that un-arms neighbours would make up for the
 * second faults of these.
 */
#define BLOCKS 16

static long empty_round(int uffd)
{
	size_t page = page_bytes(), block = block_bytes();
	char *mem = map_blocks(BLOCKS * block);

	uffd_register(uffd, mem, BLOCKS * block);
	for (size_t i = 0; i < BLOCKS; i++)
		uffd_protect(uffd, mem + i * block, page, true);
	return faults_of_stores(mem, BLOCKS, block);
}

void ask_one_fault_empty(const struct wtrack_probe *p)
{
	static const struct fault_range range = { BLOCKS, BLOCKS * 5 / 4,
						  2 * BLOCKS, BLOCKS * 9 / 4 };

	answer_faults(least_faults(empty_round, uffd_async(p)), BLOCKS, &range);
}

/* In order: a kernel may un-arm more only for who writes so. */
#define STORES 256

static long around_round(int uffd)
{
	size_t page = page_bytes();
	char *mem = map_blocks(STORES * page);

	store_pages(mem, STORES, page);
	uffd_register(uffd, mem, STORES * page);
	uffd_protect(uffd, mem, STORES * page, true);
	return faults_of_stores(mem, STORES, page);
}

void ask_fault_around(const struct wtrack_probe *p)
{
	static const struct fault_range range = { 1, STORES * 3 / 4, STORES,
						  STORES * 9 / 8 };

	answer_faults(least_faults(around_round, uffd_async(p)), STORES,
		      &range);
}

/* ---- huge pages ---- */

#define TRIES 4

/* Kilobytes of huge pages in the mapping of `mem`, as smaps tells. */
static long huge_kb(const char *mem)
{
	uintptr_t start, end, at = (uintptr_t)mem;
	FILE *f = fopen("/proc/self/smaps", "re");
	bool inside = false;
	long kb = -1;
	char line[512];

	if (!f)
		answer_refused("/proc/self/smaps", -errno);
	while (kb < 0 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) ==
		    2)
			inside = start <= at && at < end;
		else if (inside)
			sscanf(line, "AnonHugePages: %ld kB", &kb);
	}
	fclose(f);
	if (kb < 0)
		answer_unknown("/proc/self/smaps tells of no huge pages");
	return kb;
}

/* A huge page that is armed, alone in its mapping. */
static char *armed_huge_page(int uffd)
{
	size_t huge = block_bytes();

	for (int i = 0; i < TRIES; i++) {
		char *mem = map_blocks(huge);

		if (madvise(mem, huge, MADV_HUGEPAGE))
			answer_unknown("no huge pages: MADV_HUGEPAGE fails");
		uffd_register(uffd, mem, huge);
		store_pages(mem, 1, 0);
		if (huge_kb(mem) < (long)(huge / 1024))
			continue;
		uffd_protect(uffd, mem, huge, true);
		/* Arming, too, could have split it. */
		if (huge_kb(mem) == (long)(huge / 1024))
			return mem;
	}
	answer_unknown("no huge page was to be had");
}

void ask_huge_write(const struct wtrack_probe *p)
{
	int uffd = uffd_async(p), pagemap = pagemap_open(p);
	struct wt_page_region found[2];
	size_t huge = block_bytes();
	char *mem;

	mem = armed_huge_page(uffd);
	if (scan_written(pagemap, mem, huge, true, found, 2))
		answer_unknown("a huge page cannot be armed");
	store_pages(mem, 1, 0);
	if (scan_written(pagemap, mem, huge, true, found, 2) != 1)
		answer_unknown("a store to an armed huge page is not seen");
	if (huge_kb(mem) < (long)(huge / 1024))
		answer(false, "the huge page is split");
	if (found[0].end - found[0].start != huge)
		answer_unknown("a huge page is kept and written in part");
	answer(true, "the huge page is kept, and written as a whole");
}
