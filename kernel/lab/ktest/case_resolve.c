/* SPDX-License-Identifier: MIT */
/*
 * case_resolve.c: taking back protection by UFFDIO_WRITEPROTECT leaves pages
 * that may be written to at once, and no others.
 */
#include "ktest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES ((size_t)64)

static void fill(char *start, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		store(start + i * PAGE, 1);
}

static void arm_and_resolve(char *start, size_t pages)
{
	arm(start, pages * PAGE, true);
	arm(start, pages * PAGE, false);
}

static void expect_no_faults(const char *what, char *start, size_t pages)
{
	long before;

	/* The counters' own page. */
	faults();
	before = faults();
	fill(start, pages);
	check(faults() == before, "%s: %ld faults after it was resolved", what,
	      faults() - before);
}

static void small_pages(void)
{
	static const enum kind kinds[] = { KIND_ANON, KIND_SHMEM, KIND_FILE };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char *start = map(kinds[i], PAGES * PAGE);

		fill(start, PAGES);
		arm_and_resolve(start, PAGES);
		expect_no_faults(kind_names[kinds[i]], start, PAGES);
	}
}

static void huge_pages(void)
{
	char *start = map(KIND_THP, 4 * HUGE);

	populate_thp(start, 4 * HUGE);
	arm_and_resolve(start, 4 * HUGE_PAGES);
	expect_no_faults("THP", start, 4 * HUGE_PAGES);
	check(thp_bytes() == 4 * HUGE, "huge pages were split");
}

static void hugetlb_pages(void)
{
	char *start = map_hugetlb(2);

	fill(start, 2 * HUGE_PAGES);
	arm_and_resolve(start, 2 * HUGE_PAGES);
	expect_no_faults("hugetlb", start, 2 * HUGE_PAGES);
}

/* What was not protected stays as it is. */
static void unprotected(void)
{
	char *start = map(KIND_ANON, PAGES * PAGE);

	fill(start, PAGES);
	arm(start, PAGES * PAGE, false);
	expect_no_faults("not protected", start, PAGES);
	arm(start + PAGE, PAGE, true);
	arm(start, PAGES * PAGE, false);
	expect_no_faults("one protected", start, PAGES);
}

/* The first store to a page after this marks it again. */
static void clear_soft_dirty(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "4", 1) != 1)
		skip("no soft-dirty: %s", strerror(errno));
	close(fd);
}

static bool is_soft_dirty(const char *page)
{
	return pagemap_entry(pagemap, page) & WT_PM_SOFT_DIRTY;
}

static void soft_dirty(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start = map(kind, HUGE);

		if (kind == KIND_THP)
			populate_thp(start, HUGE);
		fill(start, PAGES);
		if (!is_soft_dirty(start))
			skip("no soft-dirty here");
		clear_soft_dirty();
		arm_and_resolve(start, HUGE_PAGES);
		check(!is_soft_dirty(start), "%s: resolved counts as a store",
		      kind_names[kind]);
		store(start, 2);
		check(is_soft_dirty(start), "%s: a store goes unnoticed",
		      kind_names[kind]);
	}
}

/* The child reads what it inherited after the parent stored something else. */
static void child_reads(const char *what, char *start, size_t pages, int go)
{
	char byte;

	check(read(go, &byte, 1) == 1, "read: %s", strerror(errno));
	for (size_t i = 0; i < pages; i++)
		check(load(start + i * PAGE) == 1,
		      "%s: page %zu of the child changed", what, i);
	_exit(0);
}

static void shared_with_child(const char *what, char *start, size_t pages)
{
	int ends[2], status = 0;
	pid_t child;

	fill(start, pages);
	check(pipe(ends) == 0, "pipe: %s", strerror(errno));
	child = fork();
	check(child >= 0, "fork: %s", strerror(errno));
	if (child == 0)
		child_reads(what, start, pages, ends[0]);
	arm_and_resolve(start, pages);
	for (size_t i = 0; i < pages; i++)
		store(start + i * PAGE, 2);
	check(write(ends[1], "x", 1) == 1, "write: %s", strerror(errno));
	check(waitpid(child, &status, 0) == child, "no child");
	if (status != 0)
		_exit(1);
	close(ends[0]);
	close(ends[1]);
}

static void shared_pages(void)
{
	char *start = map(KIND_THP, HUGE);

	shared_with_child("anonymous", map(KIND_ANON, PAGES * PAGE), PAGES);
	shared_with_child("private file", map(KIND_FILE, PAGES * PAGE), PAGES);
	populate_thp(start, HUGE);
	shared_with_child("THP", start, HUGE_PAGES);
	shared_with_child("hugetlb", map_hugetlb(1), HUGE_PAGES);
}

/* Reads of a private mapping show the page of the file, which is not its own.
 */
static void page_of_the_file(void)
{
	char *start = map(KIND_FILE, PAGES * PAGE), *other;

	for (size_t i = 0; i < PAGES; i++)
		check(load(start + i * PAGE) == i, "page %zu", i);
	arm_and_resolve(start, PAGES);
	fill(start, PAGES);
	check(madvise(start, PAGES * PAGE, MADV_DONTNEED) == 0, "madvise: %s",
	      strerror(errno));
	other = start + 5 * PAGE;
	check(load(other) == 5, "the file changed: %llu",
	      (unsigned long long)load(other));
}

static void read_only_mapping(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start = map(kind, PAGES * PAGE);

		fill(start, PAGES);
		arm(start, PAGES * PAGE, true);
		check(mprotect(start, PAGES * PAGE, PROT_READ) == 0,
		      "mprotect: %s", strerror(errno));
		arm(start, PAGES * PAGE, false);
		check(!can_store(start, 2), "%s: read-only memory is writable",
		      kind_names[kind]);
	}
}

const struct test resolve_tests[] = {
	{ "resolve_small_pages", small_pages },
	{ "resolve_huge_pages", huge_pages },
	{ "resolve_hugetlb", hugetlb_pages },
	{ "resolve_unprotected", unprotected },
	{ "resolve_soft_dirty", soft_dirty },
	{ "resolve_shared_pages", shared_pages },
	{ "resolve_page_of_the_file", page_of_the_file },
	{ "resolve_read_only_mapping", read_only_mapping },
	{ 0 },
};
