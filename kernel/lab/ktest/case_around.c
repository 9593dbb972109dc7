/* SPDX-License-Identifier: MIT */
/*
 * case_around.c: vm.uffd_wp_async_around.  Switched on, a write may un-arm
 * other pages of the aligned block around it: more pages read written, never
 * fewer, and no page becomes writable that must be copied first.
 */
#include "race.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK ((size_t)16)
#define PAGES ((size_t)256)
#define SIZE  (PAGES * PAGE)

static void set_switch(long value)
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

static char *armed_memory(enum kind kind)
{
	char *start = map(kind, SIZE);

	fill(start);
	arm(start, SIZE, true);
	return start;
}

/* What is written is reported, and nothing outside of these blocks. */
static void expect_blocks(const char *what, char *start,
			  const unsigned char *want)
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

static void write_page(char *start, size_t page, unsigned char *want)
{
	store(start + page * PAGE, 7);
	want[page] = 1;
}

static void sequence(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start;
		long before, taken;

		set_switch(BLOCK);
		start = armed_memory(kind);
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

	set_switch(1);
	start = armed_memory(KIND_ANON);
	for (size_t i = 20; i < 30; i++)
		write_page(start, i, want);
	expect_scan("switched off", start, want, PAGES);
	set_switch(0);
	write_page(start, 40, want);
	write_page(start, 41, want);
	memset(want + 20, 0, 10);
	expect_scan("switched off", start, want, PAGES);
}

static void blocks_only(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		struct dice dice = { settings.seed };
		char *start;

		set_switch(BLOCK);
		start = armed_memory(kind);
		for (int round = 0; round < 60; round++) {
			unsigned char want[PAGES] = { 0 };

			for (int i = 0; i < 4; i++) {
				size_t page = roll(&dice, PAGES - 1);

				write_page(start, page, want);
				write_page(start, page + 1, want);
			}
			expect_blocks(kind_names[kind], start, want);
		}
	}
}

/* The block reaches over both ends of a mapping; the neighbours are others. */
static void mapping_only(void)
{
	unsigned char want[PAGES] = { 0 };
	char *start;

	set_switch(BLOCK);
	start = armed_memory(KIND_ANON);
	check(madvise(start, 35 * PAGE, MADV_DONTDUMP) == 0 &&
		      madvise(start + 45 * PAGE, SIZE - 45 * PAGE,
			      MADV_DONTDUMP) == 0,
	      "madvise: %s", strerror(errno));
	for (size_t i = 35; i < 45; i++)
		write_page(start, i, want);
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

	set_switch(BLOCK);
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
		write_page(start, i, want);
		write_page(start, i + 1, want);
		write_page(start, i + 2, want);
	}
	fresh = map(KIND_ANON, SIZE);
	for (size_t i = 0; i < PAGES; i++) {
		uint64_t is = i % 4 < 2 ? 1000 + i : 0;

		check(load(start + i * PAGE) == (want[i] ? 7 : is),
		      "page %zu holds %llu", i,
		      (unsigned long long)load(start + i * PAGE));
		check(load(fresh + i * PAGE) == 0, "the zero page changed");
	}
	expect_blocks("other entries", start, want);
}

/* What a child shares is copied at the next store, un-armed or not. */
static void shared_after_fork(void)
{
	unsigned char want[PAGES] = { 0 };
	int go[2], status = 0;
	char *start, byte;
	pid_t child;

	set_switch(BLOCK);
	start = armed_memory(KIND_ANON);
	check(pipe(go) == 0, "pipe: %s", strerror(errno));
	child = fork();
	if (child == 0) {
		close(go[1]);
		check(read(go[0], &byte, 1) == 1, "no word from the parent");
		for (size_t i = 0; i < PAGES; i++)
			check(load(start + i * PAGE) == 1000 + i,
			      "page %zu changed in the child", i);
		_exit(0);
	}
	check(child > 0, "fork: %s", strerror(errno));
	for (int round = 0; round < 3; round++) {
		memset(want, 0, PAGES);
		for (size_t i = 0; i < PAGES; i++)
			if (i % 20 < 5)
				write_page(start, i, want);
		expect_blocks("shared", start, want);
	}
	check(write(go[1], "x", 1) == 1 &&
		      waitpid(child, &status, 0) == child && status == 0,
	      "the child sees the parent's stores");
}

static void set_ksm(const char *file, const char *value)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/mm/ksm/%s", file);
	f = fopen(path, "we");
	if (!f || fprintf(f, "%s\n", value) < 0 || fclose(f) != 0)
		skip("no KSM: %s", strerror(errno));
}

static void merged(void)
{
	unsigned char want[PAGES] = { 0 };
	char *start;

	set_switch(BLOCK);
	start = map(KIND_ANON, SIZE);
	for (size_t i = 0; i < PAGES; i++)
		store(start + i * PAGE, i % 2 ? 4242 : i);
	if (madvise(start, SIZE, MADV_MERGEABLE) != 0)
		skip("no KSM: %s", strerror(errno));
	set_ksm("pages_to_scan", "10000");
	set_ksm("run", "1");
	for (int i = 0; i < 200; i++) {
		usleep(20000);
		if (counter("/proc/self/ksm_stat", "ksm_merging_pages") >=
		    (long)PAGES / 2 - 4)
			break;
	}
	set_ksm("run", "0");
	if (counter("/proc/self/ksm_stat", "ksm_merging_pages") < 8)
		skip("KSM merges nothing");
	arm(start, SIZE, true);
	for (size_t i = 16; i < 32; i += 2) {
		write_page(start, i, want);
		write_page(start, i + 1, want);
	}
	for (size_t i = 0; i < PAGES; i++)
		check(load(start + i * PAGE) == (want[i] ? 7
						 : i % 2 ? 4242
							 : i),
		      "page %zu changed with another one", i);
	expect_blocks("merged", start, want);
}

static void soft_dirty_too(void)
{
	char *start;
	FILE *f;

	set_switch(BLOCK);
	start = armed_memory(KIND_ANON);
	if (~pagemap_entry(pagemap, start) & (1ull << 55))
		skip("no soft-dirty");
	f = fopen("/proc/self/clear_refs", "we");
	check(f && fputs("4", f) >= 0 && fclose(f) == 0, "clear_refs");
	for (size_t i = 20; i < 24; i++) {
		store(start + i * PAGE, 7);
		check(pagemap_entry(pagemap, start + i * PAGE) & (1ull << 55),
		      "page %zu was written and is not soft-dirty", i);
	}
	check(~pagemap_entry(pagemap, start + 30 * PAGE) & (1ull << 55),
	      "page 30 is soft-dirty and nobody wrote to it");
}

/* A page that the kernel holds for input or output is not copied away. */
static void pinned(void)
{
	unsigned char want[PAGES] = { 0 };
	int ends[2];
	char *start;
	struct iovec part;
	uint64_t got;

	set_switch(BLOCK);
	start = armed_memory(KIND_ANON);
	part.iov_base = start + 21 * PAGE;
	part.iov_len = PAGE;
	check(pipe(ends) == 0 &&
		      vmsplice(ends[1], &part, 1, 0) == (ssize_t)PAGE,
	      "vmsplice: %s", strerror(errno));
	for (size_t i = 20; i < 24; i++)
		write_page(start, i, want);
	check(read(ends[0], &got, sizeof(got)) == sizeof(got), "read: %s",
	      strerror(errno));
	check(got == 7 || got == 1021, "the pipe holds %llu",
	      (unsigned long long)got);
	expect_blocks("held", start, want);
}

static void races(void)
{
	struct race race = { .pages = 4 * HUGE_PAGES,
			     .room = 700,
			     .epochs = 15 };

	for (enum kind kind = 0; kind < KINDS; kind++) {
		set_switch(BLOCK);
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
	{ "around_shared_after_fork", shared_after_fork },
	{ "around_merged", merged },
	{ "around_soft_dirty_too", soft_dirty_too },
	{ "around_pinned", pinned },
	{ "around_races", races },
	{ 0 },
};
