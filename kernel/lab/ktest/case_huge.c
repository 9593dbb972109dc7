/* SPDX-License-Identifier: MIT */
/*
 * case_huge.c: vm.uffd_wp_async_huge.  Switched on, a write to an armed huge
 * page un-arms all of it and leaves it huge; off, it splits the page and
 * un-arms one small page.
 */
#include "race.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define N     ((size_t)4)
#define SIZE  (N * HUGE)
#define PAGES (N * HUGE_PAGES)

/* The runner puts it back after the test. */
static void set_switch(long value)
{
	if (sysctl_get("uffd_wp_async_huge") < 0)
		skip("no vm.uffd_wp_async_huge");
	check(sysctl_set("uffd_wp_async_huge", value) == 0, "sysctl: %s",
	      strerror(errno));
	settings.coarse = sysctl_get("uffd_wp_async_around") > 1;
}

static long splits(void)
{
	return counter("/proc/vmstat", "thp_split_pmd");
}

static char *armed_huge_pages(void)
{
	char *start = map(KIND_THP, SIZE);

	populate_thp(start, SIZE);
	for (size_t i = 0; i < PAGES; i++)
		store(start + i * PAGE, i);
	expect_written("at first", start, PAGES);
	return start;
}

static void expect_huge(size_t n)
{
	check(thp_bytes() == n * HUGE, "%zu MiB are huge pages, not %zu",
	      thp_bytes() >> 20, n * HUGE >> 20);
}

static void keeps_huge_pages(void)
{
	char *start;
	size_t before;

	set_switch(1);
	start = armed_huge_pages();
	before = thp_bytes();
	for (int round = 0; round < 5; round++) {
		unsigned char *want = new_set(PAGES);
		long split = splits(), fault;

		faults();
		fault = faults();
		for (size_t i = 0; i < N; i += 2) {
			store(start + i * HUGE + 77 * PAGE, 5);
			store(start + i * HUGE + 400 * PAGE, 5);
			memset(want + i * HUGE_PAGES, 1, HUGE_PAGES);
		}
		check(faults() - fault == N / 2, "%ld faults, not %zu",
		      faults() - fault, N / 2);
		check(splits() == split, "%ld huge pages are split",
		      splits() - split);
		check(thp_bytes() == before, "huge pages are gone");
		expect_scan("after writes", start, want, PAGES);
		expect_clean("scanned again", start, PAGES);
		if (round == 3)
			arm(start, SIZE, true);
		free(want);
	}
	for (size_t i = 0; i < PAGES; i++)
		check(load(start + i * PAGE) ==
			      ((i / HUGE_PAGES % 2 == 0 &&
				(i % HUGE_PAGES == 77 || i % HUGE_PAGES == 400))
				       ? 5
				       : i),
		      "page %zu changed", i);
}

static void off(void)
{
	unsigned char *want = new_set(PAGES);
	long split;
	char *start;

	set_switch(0);
	start = armed_huge_pages();
	split = splits();
	for (size_t i = 0; i < N; i++) {
		store(start + i * HUGE + 77 * PAGE, 5);
		want[i * HUGE_PAGES + 77] = 1;
	}
	check(splits() - split == N, "%ld huge pages are split, not %zu",
	      splits() - split, N);
	expect_scan("after writes", start, want, PAGES);
	expect_clean("scanned again", start, PAGES);
}

/* Both still share the page: only what is written is copied and un-armed. */
static void shared_after_fork(void)
{
	unsigned char *want = new_set(PAGES);
	int go[2], status = 0;
	char *start, byte;
	pid_t child;

	set_switch(1);
	start = armed_huge_pages();
	check(pipe(go) == 0, "pipe: %s", strerror(errno));
	child = fork();
	if (child == 0) {
		close(go[1]);
		check(read(go[0], &byte, 1) == 1, "no word from the parent");
		for (size_t i = 0; i < PAGES; i++)
			check(load(start + i * PAGE) == i,
			      "page %zu changed in the child", i);
		_exit(0);
	}
	check(child > 0, "fork: %s", strerror(errno));
	for (size_t page = 3; page < HUGE_PAGES; page += 100) {
		store(start + page * PAGE, 9);
		want[page] = 1;
	}
	expect_scan("of a shared page", start, want, PAGES);
	expect_clean("scanned again", start, PAGES);
	memset(want, 0, PAGES);
	store(start + 3 * PAGE, 10);
	store(start + 4 * PAGE, 10);
	want[3] = want[4] = 1;
	expect_scan("written again", start, want, PAGES);
	check(write(go[1], "x", 1) == 1 &&
		      waitpid(child, &status, 0) == child && status == 0,
	      "the child sees the parent's stores");
	/* Alone again: whole pages or parts, but what is written. */
	settings.coarse = true;
	for (size_t i = 1; i < N; i++) {
		store(start + i * HUGE + 8 * PAGE, 11);
		memset(want, 0, PAGES);
		want[i * HUGE_PAGES + 8] = 1;
		expect_scan("alone again", start, want, PAGES);
	}
}

static void read_only(void)
{
	unsigned char *want = new_set(PAGES);
	char *start;

	set_switch(1);
	start = armed_huge_pages();
	check(mprotect(start, SIZE, PROT_READ) == 0, "mprotect: %s",
	      strerror(errno));
	check(!can_store(start + PAGE, 1),
	      "a store to read-only memory succeeds");
	expect_clean("read-only", start, PAGES);
	check(mprotect(start, SIZE, PROT_READ | PROT_WRITE) == 0,
	      "mprotect: %s", strerror(errno));
	expect_clean("writable again", start, PAGES);
	store(start + PAGE, 1);
	memset(want, 1, HUGE_PAGES);
	expect_scan("after a store", start, want, PAGES);
}

/* A write to a part leaves the parts beside it as they were. */
static void parts(void)
{
	unsigned char *want = new_set(PAGES);
	char *start;

	set_switch(1);
	start = armed_huge_pages();
	arm(start + 3 * HUGE + 5 * PAGE, 2 * PAGE, false);
	expect_huge(N - 1);
	store(start + 3 * HUGE + 9 * PAGE, 1);
	want[3 * HUGE_PAGES + 5] = want[3 * HUGE_PAGES + 6] = 1;
	want[3 * HUGE_PAGES + 9] = 1;
	expect_scan("of a split page", start, want, PAGES);
	expect_clean("scanned again", start, PAGES);
	store(start + 2 * HUGE + PAGE, 1);
	memset(want, 0, PAGES);
	memset(want + 2 * HUGE_PAGES, 1, HUGE_PAGES);
	expect_scan("of a whole one", start, want, PAGES);
	expect_huge(N - 1);
}

/* The huge zero page must stay one of zeroes. */
static void zero_page(void)
{
	unsigned char *want = new_set(PAGES);
	char *start, *other;

	set_switch(1);
	start = map(KIND_THP, SIZE);
	other = map(KIND_THP, SIZE);
	for (size_t i = 0; i < N; i++)
		check(load(start + i * HUGE) + load(other + i * HUGE) == 0,
		      "not zero");
	arm(start, SIZE, true);
	store(start + 5 * PAGE, 1);
	want[5] = 1;
	settings.coarse = true;
	expect_scan("over the zero page", start, want, PAGES);
	expect_clean("scanned again", start, PAGES);
	for (size_t i = 0; i < PAGES; i++)
		check(load(start + i * PAGE) == (i == 5) &&
			      load(other + i * PAGE) == 0,
		      "page %zu is not zero", i);
}

static void kernel_writes(void)
{
	unsigned char *want = new_set(PAGES);
	int ends[2];
	char *start;

	set_switch(1);
	start = armed_huge_pages();
	check(pipe(ends) == 0 && write(ends[1], "12345678", 8) == 8 &&
		      read(ends[0], start + HUGE + 6 * PAGE, 8) == 8,
	      "read(2) into it: %s", strerror(errno));
	memset(want + HUGE_PAGES, 1, HUGE_PAGES);
	expect_scan("read(2) into it", start, want, PAGES);
	expect_clean("scanned again", start, PAGES);
}

static void races(void)
{
	struct race race = { .pages = PAGES, .room = 700, .epochs = 15 };

	set_switch(1);
	race.start = armed_huge_pages();
	run_race(&race);
}

const struct test huge_tests[] = {
	{ "huge_keeps_huge_pages", keeps_huge_pages },
	{ "huge_off", off },
	{ "huge_shared_after_fork", shared_after_fork },
	{ "huge_read_only", read_only },
	{ "huge_parts", parts },
	{ "huge_zero_page", zero_page },
	{ "huge_kernel_writes", kernel_writes },
	{ "huge_races", races },
	{ 0 },
};
