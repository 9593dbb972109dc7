/* SPDX-License-Identifier: MIT */
/*
 * case_around.c: vm.uffd_wp_async_around.  Switched on, a write may un-arm
 * other pages of the aligned block around it: more pages read written, never
 * fewer.
 */
#include "around.h"
#include "race.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

void around_switch(long value)
{
	if (sysctl_get("uffd_wp_async_around") < 0)
		skip("no vm.uffd_wp_async_around");
	check(sysctl_set("uffd_wp_async_around", value) == 0, "sysctl: %s",
	      strerror(errno));
	settings.coarse = value > 1;
}

static void fill(char *start)
{
	for (size_t i = 0; i < PAGES; i++)
		store(start + i * PAGE, 1000 + i);
}

char *around_memory(enum kind kind)
{
	char *start = map(kind, SIZE);

	fill(start);
	arm(start, SIZE, true);
	return start;
}

void around_expect(const char *what, char *start, const unsigned char *want)
{
	unsigned char got[PAGES] = { 0 };

	scan_pages(start, PAGES, WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC, got);
	for (size_t i = 0; i < PAGES; i++) {
		size_t first = i / BLOCK * BLOCK;
		bool near = memchr(want + first, 1, BLOCK) != NULL;

		check(got[i] || !want[i], "%s: page %zu is not reported", what,
		      i);
		check(!got[i] || near,
		      "%s: page %zu is reported, in a block that nobody wrote "
		      "to",
		      what, i);
	}
	expect_clean("scanned again", start, PAGES);
}

void around_write(char *start, size_t page, unsigned char *want)
{
	store(start + page * PAGE, 7);
	want[page] = 1;
}

static void sequence(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start;
		long before, taken;

		around_switch(BLOCK);
		start = around_memory(kind);
		faults();
		before = faults();
		for (size_t i = 0; i < PAGES; i++)
			store(start + i * PAGE, 7);
		taken = faults() - before;
		if (kind == KIND_ANON)
			check(taken < (long)(PAGES / 4),
			      "%zu pages in sequence took %ld faults", PAGES,
			      taken);
		expect_written("after a sequence", start, PAGES);
		expect_clean("scanned again", start, PAGES);
	}
}

static void off(void)
{
	unsigned char want[PAGES] = { 0 };
	char *start;

	around_switch(1);
	start = around_memory(KIND_ANON);
	for (size_t i = 20; i < 30; i++)
		around_write(start, i, want);
	expect_scan("switched off", start, want, PAGES);
	around_switch(0);
	around_write(start, 40, want);
	around_write(start, 41, want);
	memset(want + 20, 0, 10);
	expect_scan("switched off", start, want, PAGES);
}

static void blocks_only(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		struct dice dice = { settings.seed };
		char *start;

		around_switch(BLOCK);
		start = around_memory(kind);
		for (int round = 0; round < 60; round++) {
			unsigned char want[PAGES] = { 0 };

			for (int i = 0; i < 4; i++) {
				size_t page = roll(&dice, PAGES - 1);

				around_write(start, page, want);
				around_write(start, page + 1, want);
			}
			around_expect(kind_names[kind], start, want);
		}
	}
}

/* The block reaches over both ends of a mapping; the neighbours are others. */
static void mapping_only(void)
{
	unsigned char want[PAGES] = { 0 };
	char *start;

	around_switch(BLOCK);
	start = around_memory(KIND_ANON);
	check(madvise(start, 35 * PAGE, MADV_DONTDUMP) == 0 &&
		      madvise(start + 45 * PAGE, SIZE - 45 * PAGE,
			      MADV_DONTDUMP) == 0,
	      "madvise: %s", strerror(errno));
	for (size_t i = 35; i < 45; i++)
		around_write(start, i, want);
	/* In blocks that are written to, but not in this mapping. */
	expect_clean("the mapping before", start, 35);
	expect_clean("the mapping behind", start + 45 * PAGE, PAGES - 45);
	expect_written("the mapping", start + 35 * PAGE, 10);
}

/* Entries of other kinds in the block keep what they hold. */
static void other_entries(void)
{
	unsigned char want[PAGES] = { 0 };
	char *start, *fresh;

	around_switch(BLOCK);
	start = map(KIND_ANON, SIZE);
	for (size_t i = 0; i < PAGES; i++)
		if (i % 4 == 0 || i % 4 == 1)
			store(start + i * PAGE, 1000 + i);
	if (counter("/proc/meminfo", "SwapTotal") > 0)
		for (size_t i = 1; i < PAGES; i += 4)
			swap_out(start + i * PAGE, PAGE);
	arm(start, SIZE, true);
	/* The zero page; the fourth stays empty. */
	for (size_t i = 2; i < PAGES; i += 4)
		load(start + i * PAGE);
	for (size_t i = 4; i < PAGES; i += 8) {
		around_write(start, i, want);
		around_write(start, i + 1, want);
		around_write(start, i + 2, want);
	}
	fresh = map(KIND_ANON, SIZE);
	for (size_t i = 0; i < PAGES; i++) {
		uint64_t is = i % 4 < 2 ? 1000 + i : 0;

		check(load(start + i * PAGE) == (want[i] ? 7 : is),
		      "page %zu holds %llu", i,
		      (unsigned long long)load(start + i * PAGE));
		check(load(fresh + i * PAGE) == 0, "the zero page changed");
	}
	around_expect("other entries", start, want);
}

static void races(void)
{
	struct race race = { .pages = 4 * HUGE_PAGES,
			     .room = 700,
			     .epochs = 15 };

	for (enum kind kind = 0; kind < KINDS; kind++) {
		around_switch(BLOCK);
		race.start = map(kind, race.pages * PAGE);
		for (size_t i = 0; i < race.pages; i++)
			store(race.start + i * PAGE, 1);
		run_race(&race);
	}
}

const struct test around_tests[] = {
	{ "around_sequence", sequence },
	{ "around_off", off },
	{ "around_blocks_only", blocks_only },
	{ "around_mapping_only", mapping_only },
	{ "around_other_entries", other_entries },
	{ "around_races", races },
	{ 0 },
};
