/* SPDX-License-Identifier: MIT */
/*
 * case_again.c: arming what is armed and un-arming what is not change nothing,
 * also where both meet.
 */
#include "scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void arm_again(void)
{
	struct scene s = make_scene();
	size_t size = s.pages * PAGE;

	arm(s.start, size, true);
	for (int round = 0; round < 6; round++) {
		unsigned char *want = new_set(s.pages);

		arm(s.start, size, true);
		expect_clean("armed again", s.start, s.pages);
		arm(s.start, size, true);
		store_every(&s, 7, (size_t)round, want);
		expect_scan("after stores", s.start, want, s.pages);
		free(want);
	}
}

static void unarm_again(void)
{
	struct scene s = make_scene();
	size_t size = s.pages * PAGE;

	for (int round = 0; round < 4; round++) {
		arm(s.start, size, false);
		arm(s.start, size, false);
		expect_written("un-armed twice", s.start, s.pages);
		store_every(&s, 3, 0, new_set(s.pages));
		arm(s.start, size, false);
		arm(s.start, size, true);
		expect_clean("armed", s.start, s.pages);
	}
}

/* Arming over a mixture arms the rest; un-arming likewise. */
static void mixed(bool on)
{
	struct scene s = make_scene();
	struct dice dice = { settings.seed };

	arm(s.start, s.pages * PAGE, true);
	for (int round = 0; round < 12; round++) {
		size_t from = roll(&dice, s.pages - 1);
		size_t n = 1 + roll(&dice, s.pages - from);
		unsigned char *want = new_set(s.pages);

		store_some(&s, 30, &dice, want);
		if (round % 3 == 1)
			scene_swap_out(&s);
		/* The zero page, where nothing was. */
		for (size_t i = 0; i < s.pages; i += 11)
			load(s.start + i * PAGE);
		arm(s.start + from * PAGE, n * PAGE, on);
		memset(want + from, !on, n);
		expect_scan(on ? "armed over a mixture"
			       : "un-armed over a mixture",
			    s.start, want, s.pages);
		free(want);
	}
}

static void arm_a_mixture(void)
{
	mixed(true);
}

static void unarm_a_mixture(void)
{
	mixed(false);
}

static void parts_of_huge_pages(void)
{
	char *start = map(KIND_THP, 4 * HUGE);
	size_t pages = 4 * HUGE_PAGES;
	unsigned char *want = new_set(pages);

	populate_thp(start, 4 * HUGE);
	arm(start, 4 * HUGE, true);
	/* An armed page is un-armed in its middle, an un-armed one armed. */
	arm(start + HUGE + 100 * PAGE, 50 * PAGE, false);
	memset(want + HUGE_PAGES + 100, 1, 50);
	arm(start + 2 * HUGE, HUGE, false);
	arm(start + 2 * HUGE + 7 * PAGE, 3 * PAGE, true);
	memset(want + 2 * HUGE_PAGES, 1, HUGE_PAGES);
	memset(want + 2 * HUGE_PAGES + 7, 0, 3);
	arm(start + 3 * HUGE, HUGE, true);
	expect_scan("parts", start, want, pages);
	expect_clean("scanned again", start, pages);
}

static void swapped(void)
{
	char *start = map(KIND_ANON, HUGE);
	unsigned char want[HUGE_PAGES] = { 0 };
	size_t there;

	need_swap();
	for (size_t i = 0; i < HUGE_PAGES; i++)
		store(start + i * PAGE, i + 1);
	there = swap_out(start, HUGE);
	check(there > HUGE_PAGES / 2, "only %zu pages went to swap", there);
	arm(start, HUGE, true);
	arm(start, HUGE, true);
	expect_clean("armed in swap", start, HUGE_PAGES);
	arm(start, HUGE / 2, false);
	arm(start, HUGE / 2, false);
	for (size_t i = 0; i < HUGE_PAGES; i++)
		check(load(start + i * PAGE) == i + 1, "page %zu changed", i);
	memset(want, 1, HUGE_PAGES / 2);
	expect_scan("half un-armed in swap", start, want, HUGE_PAGES);
	store(start + 500 * PAGE, 9);
	memset(want, 0, HUGE_PAGES);
	want[500] = 1;
	expect_scan("after a store", start, want, HUGE_PAGES);
}

/* Pages move meanwhile, where the kernel can be asked for that. */
static void while_pages_move(void)
{
	struct scene s = make_scene();
	struct dice dice = { settings.seed };

	if (access("/proc/sys/vm/compact_memory", W_OK) != 0)
		skip("no compaction: %s", strerror(errno));
	arm(s.start, s.pages * PAGE, true);
	for (int round = 0; round < 8; round++) {
		unsigned char *want = new_set(s.pages);

		store_some(&s, 20, &dice, want);
		check(sysctl_set("compact_memory", 1) == 0, "compaction: %s",
		      strerror(errno));
		expect_scan("after compaction", s.start, want, s.pages);
		arm(s.start, s.pages * PAGE, true);
		sysctl_set("compact_memory", 1);
		expect_clean("armed and moved", s.start, s.pages);
		free(want);
	}
}

const struct test again_tests[] = {
	{ "again_arm", arm_again },
	{ "again_unarm", unarm_again },
	{ "again_arm_a_mixture", arm_a_mixture },
	{ "again_unarm_a_mixture", unarm_a_mixture },
	{ "again_parts_of_huge_pages", parts_of_huge_pages },
	{ "again_swapped", swapped },
	{ "again_while_pages_move", while_pages_move },
	{ 0 },
};
