/* SPDX-License-Identifier: MIT */
/*
 * case_density.c: the loops over runs of clean entries report the same set as
 * one entry after the other would, at all densities and at each border.
 */
#include "ktest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGES   (3 * HUGE_PAGES)
#define GET_ARM (WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC)

/* Small pages: of each 64, half are populated and half empty; all armed. */
static char *armed_memory(void)
{
	char *start = map(KIND_ANON, PAGES * PAGE);

	for (size_t i = 0; i < PAGES; i++)
		if (i / 32 % 2)
			store(start + i * PAGE, 1);
	arm(start, PAGES * PAGE, true);
	expect_clean("armed", start, PAGES);
	return start;
}

static void touch(char *start, const unsigned char *want)
{
	for (size_t i = 0; i < PAGES; i++)
		if (want[i])
			store(start + i * PAGE, i);
}

/* By reading first, then by reading and arming; then nothing is left. */
static void check_set(const char *what, char *start, const unsigned char *want,
		      size_t room)
{
	unsigned char *got = new_set(PAGES);

	touch(start, want);
	scan_limited(start, PAGES, 0, room, 0, got);
	expect_pages(what, got, want, PAGES);
	memset(got, 0, PAGES);
	scan_limited(start, PAGES, GET_ARM, room, 0, got);
	expect_pages(what, got, want, PAGES);
	expect_clean(what, start, PAGES);
	free(got);
}

static void regular(void)
{
	static const size_t steps[] = { 1,   2,   3,   4,    5,   7,   8,
					9,   15,  16,  17,   31,  33,  63,
					64,  65,  127, 128,  255, 256, 257,
					511, 512, 513, 1023, 1535 };
	char *start = armed_memory();

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		for (size_t rest = 0; rest < steps[i];
		     rest += 1 + steps[i] / 3) {
			unsigned char *want = new_set(PAGES);

			for (size_t p = rest; p < PAGES; p += steps[i])
				want[p] = 1;
			check_set("regular", start, want, i % 2 ? 2000 : 100);
			free(want);
		}
}

static void at_random(void)
{
	struct dice dice = { settings.seed };
	char *start = armed_memory();

	for (size_t sides = 1; sides <= 2048; sides *= 2)
		for (int round = 0; round < 4; round++) {
			unsigned char *want = new_set(PAGES);

			for (size_t i = 0; i < PAGES; i++)
				want[i] = roll(&dice, sides) == 0;
			check_set("at random", start, want,
				  1 + roll(&dice, 600));
			free(want);
		}
}

/* Runs of clean and of written pages of every length, at every place. */
static void runs(void)
{
	struct dice dice = { settings.seed };
	char *start = armed_memory();

	for (size_t longest = 1; longest <= 130; longest += 8) {
		unsigned char *want = new_set(PAGES);
		size_t page = 0;
		bool on = false;

		while (page < PAGES) {
			size_t n = 1 + roll(&dice, longest);

			for (; n && page < PAGES; n--)
				want[page++] = on;
			on = !on;
		}
		check_set("runs", start, want, 2000);
		free(want);
	}
}

/* One page, at both sides of each border of page tables and of the range. */
static void borders(void)
{
	static const size_t places[] = { 0,    1,    2,    510,  511,
					 512,  513,  1022, 1023, 1024,
					 1025, 1533, 1534, 1535 };
	const size_t n = sizeof(places) / sizeof(places[0]);
	char *start = armed_memory();

	for (size_t i = 0; i < n * n; i++) {
		unsigned char *want = new_set(PAGES);

		want[places[i / n]] = 1;
		want[places[i % n]] = 1;
		check_set("borders", start, want, 2);
		free(want);
	}
}

/* The scan's own borders: nothing outside is reported or armed. */
static void ranges(void)
{
	static const size_t places[] = {
		0,   1,   31,   32,   33,   510,  511,
		512, 513, 1023, 1024, 1025, 1535, 1536
	};
	const size_t n = sizeof(places) / sizeof(places[0]);
	char *start = armed_memory();

	for (size_t i = 0; i < n * n; i++) {
		size_t from = places[i / n], to = places[i % n];
		unsigned char *want;

		if (from >= to)
			continue;
		want = new_set(PAGES);
		for (size_t p = i % 3; p < PAGES; p += 3)
			want[p] = 1;
		touch(start, want);
		expect_part(start, PAGES, from, to, want);
		free(want);
	}
}

const struct test density_tests[] = {
	{ "density_regular", regular }, { "density_at_random", at_random },
	{ "density_runs", runs },       { "density_borders", borders },
	{ "density_ranges", ranges },   { 0 },
};
