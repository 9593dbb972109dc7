/* SPDX-License-Identifier: MIT */
/*
 * case_protect.c: mprotect(2) and soft-dirty beside tracking: none of the three
 * makes a page writable that another one wants protected.
 */
#include "ktest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES            ((size_t)64)
#define ENTRY_SOFT_DIRTY (1ull << 55)

static void protect(char *start, size_t size, int protection)
{
	check(mprotect(start, size, protection) == 0, "mprotect: %s",
	      strerror(errno));
}

/* Populated memory of a kind, armed; THP is as many pages as a huge page. */
static char *armed_memory(enum kind kind, size_t *pages)
{
	char *start;

	*pages = kind == KIND_THP ? HUGE_PAGES : PAGES;
	start = map(kind, *pages * PAGE);
	if (kind == KIND_THP)
		populate_thp(start, HUGE);
	for (size_t i = 0; i < *pages; i++)
		store(start + i * PAGE, i + 1);
	arm(start, *pages * PAGE, true);
	return start;
}

static void expect_one(const char *what, char *start, size_t pages, size_t page)
{
	unsigned char *want = new_set(pages);

	want[page] = 1;
	expect_scan(what, start, want, pages);
	free(want);
}

static void flip_armed(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		size_t pages, size;
		char *start = armed_memory(kind, &pages);

		size = pages * PAGE;
		for (size_t page = 3; page < 10; page++) {
			protect(start, size, PROT_READ);
			check(!can_store(start + page * PAGE, 7),
			      "%s: a store to read-only memory succeeds",
			      kind_names[kind]);
			expect_clean("read-only", start, pages);
			protect(start, size, PROT_READ | PROT_WRITE);
			expect_clean("writable again", start, pages);
			check(can_store(start + page * PAGE, 100 + page),
			      "%s: a store is refused", kind_names[kind]);
			expect_one("after a store", start, pages, page);
		}
		munmap(start, size);
	}
}

static void arm_while_read_only(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		size_t pages, size;
		char *start = armed_memory(kind, &pages);

		size = pages * PAGE;
		arm(start, size, false);
		for (size_t page = 3; page < 6; page++) {
			protect(start, size, PROT_READ);
			arm(start, size, true);
			arm(start, size, true);
			protect(start, size, PROT_READ | PROT_WRITE);
			check(can_store(start + page * PAGE, 5),
			      "%s: a store is refused", kind_names[kind]);
			expect_one("after a store", start, pages, page);
		}
		munmap(start, size);
	}
}

static void unarm_while_read_only(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		size_t pages, size;
		char *start = armed_memory(kind, &pages);

		size = pages * PAGE;
		protect(start, size, PROT_READ);
		arm(start, size, false);
		arm(start, size, false);
		for (size_t i = 0; i < pages; i += 5)
			check(!can_store(start + i * PAGE, 5),
			      "%s: un-arming made page %zu writable",
			      kind_names[kind], i);
		protect(start, size, PROT_READ | PROT_WRITE);
		for (size_t i = 0; i < pages; i++)
			check(can_store(start + i * PAGE, 5),
			      "%s: page %zu is not writable", kind_names[kind],
			      i);
		expect_written("un-armed", start, pages);
		munmap(start, size);
	}
}

static void part_read_only(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		size_t pages, size;
		char *start = armed_memory(kind, &pages);

		size = pages * PAGE;
		protect(start + 10 * PAGE, 10 * PAGE, PROT_READ);
		arm(start, size, false);
		check(!can_store(start + 12 * PAGE, 5), "%s: not refused",
		      kind_names[kind]);
		arm(start, size, true);
		check(can_store(start + 30 * PAGE, 5), "%s: refused",
		      kind_names[kind]);
		expect_one("one store", start, pages, 30);
		protect(start + 10 * PAGE, 10 * PAGE, PROT_READ | PROT_WRITE);
		check(can_store(start + 12 * PAGE, 5), "%s: refused",
		      kind_names[kind]);
		expect_one("one more store", start, pages, 12);
		munmap(start, size);
	}
}

static void no_access(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		size_t pages, size;
		char *start = armed_memory(kind, &pages);

		size = pages * PAGE;
		protect(start, size, PROT_NONE);
		arm(start, size, true);
		expect_clean("no access", start, pages);
		protect(start, size, PROT_READ | PROT_WRITE);
		for (size_t i = 0; i < pages; i++)
			check(load(start + i * PAGE) == i + 1,
			      "%s: page %zu changed", kind_names[kind], i);
		check(can_store(start + 6 * PAGE, 5), "%s: refused",
		      kind_names[kind]);
		expect_one("after a store", start, pages, 6);
		munmap(start, size);
	}
}

/* As debuggers do it: it changes the page, but not who may store to it. */
static void forced_write(enum kind kind, bool empty)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	size_t pages = HUGE_PAGES, size = HUGE;
	unsigned char *want = new_set(pages);
	char *start = map(kind, size);
	uint64_t value = 99;

	if (!empty && kind == KIND_THP)
		populate_thp(start, size);
	for (size_t i = 0; !empty && i < pages; i++)
		store(start + i * PAGE, i);
	arm(start, size, true);
	protect(start, size, PROT_READ);
	for (size_t i = 20; i < 25; i++) {
		check(fd >= 0 && pwrite(fd, &value, sizeof(value),
					(off_t)(uintptr_t)(start + i * PAGE)) ==
					 sizeof(value),
		      "%s: /proc/self/mem: %s", kind_names[kind],
		      strerror(errno));
		check(load(start + i * PAGE) == 99 &&
			      !can_store(start + i * PAGE, 5),
		      "%s: page %zu is not changed, or now writable",
		      kind_names[kind], i);
		want[i] = 1;
	}
	check(!can_store(start + 26 * PAGE, 5),
	      "%s: a page beside it is writable", kind_names[kind]);
	expect_scan("forced writes", start, want, pages);
	expect_clean("scanned again", start, pages);
	close(fd);
}

static void forced_writes(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		/* The kernel refuses it for what is shared. */
		if (kind == KIND_SHMEM)
			continue;
		forced_write(kind, true);
		forced_write(kind, false);
	}
}

/* ---- soft-dirty ---- */

static void clear_soft_dirty(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "4", 1) != 1)
		skip("no soft-dirty: %s", strerror(errno));
	close(fd);
}

static bool soft_dirty(const char *page)
{
	return pagemap_entry(pagemap, page) & ENTRY_SOFT_DIRTY;
}

static void need_soft_dirty(void)
{
	char *page = map(KIND_ANON, PAGE);

	store(page, 1);
	if (!soft_dirty(page))
		skip("no soft-dirty");
	clear_soft_dirty();
	if (soft_dirty(page))
		skip("soft-dirty cannot be cleared");
}

static void soft_dirty_and_armed(void)
{
	need_soft_dirty();
	for (enum kind kind = 0; kind < KINDS; kind++) {
		size_t pages;
		char *start = armed_memory(kind, &pages);

		clear_soft_dirty();
		expect_clean("soft-dirty cleared", start, pages);
		/* Un-arming must leave it to the fault to say soft-dirty. */
		arm(start, pages * PAGE, false);
		arm(start, pages * PAGE, false);
		store(start + 9 * PAGE, 4);
		check(soft_dirty(start + 9 * PAGE),
		      "%s: a store after un-arming is not soft-dirty",
		      kind_names[kind]);
		arm(start, pages * PAGE, true);
		clear_soft_dirty();
		store(start + 9 * PAGE, 5);
		check(soft_dirty(start + 9 * PAGE),
		      "%s: a store to an armed page is not soft-dirty",
		      kind_names[kind]);
		expect_one("after a store", start, pages, 9);
		munmap(start, pages * PAGE);
	}
}

const struct test protect_tests[] = {
	{ "protect_flip_armed", flip_armed },
	{ "protect_arm_while_read_only", arm_while_read_only },
	{ "protect_unarm_while_read_only", unarm_while_read_only },
	{ "protect_part_read_only", part_read_only },
	{ "protect_no_access", no_access },
	{ "protect_forced_writes", forced_writes },
	{ "protect_soft_dirty_and_armed", soft_dirty_and_armed },
	{ 0 },
};
