/* SPDX-License-Identifier: MIT */
/*
 * case_empty.c: memory that is armed while it is empty takes one fault at its
 * first write, not two, and stays armed when it is only read.
 */
#include "ktest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES ((size_t)64)

static void expect_contents(enum kind kind, const char *start, size_t page)
{
	uint64_t value = load(start + page * PAGE);

	check(value == (kind == KIND_FILE ? page : 0),
	      "%s: page %zu holds %llu", kind_names[kind], page,
	      (unsigned long long)value);
}

static void write_to(enum kind kind)
{
	char *start = map(kind, PAGES * PAGE);
	unsigned char *want = new_set(PAGES);
	long before, taken, expected = settings.fixed ? 1 : 2;

	arm(start, PAGES * PAGE, true);
	expect_clean("armed while empty", start, PAGES);
	for (size_t page = 5; page < PAGES; page += 9) {
		faults();
		before = faults();
		store(start + page * PAGE, 77);
		taken = faults() - before;
		check(taken == expected || settings.coarse,
		      "%s: the first write took %ld faults, not %ld%s",
		      kind_names[kind], taken, expected,
		      taken == 1 ? " (is this kernel fixed? then say --fixed)"
				 : "");
		before = faults();
		store(start + page * PAGE, 78);
		check(faults() == before, "%s: the second write faults",
		      kind_names[kind]);
		want[page] = 1;
	}
	expect_scan("after writes", start, want, PAGES);
	expect_clean("scanned again", start, PAGES);
	for (size_t page = 5; page < PAGES; page += 9)
		check(load(start + page * PAGE) == 78, "%s: page %zu changed",
		      kind_names[kind], page);
	expect_contents(kind, start, 4);
}

static void write_anon(void)
{
	write_to(KIND_ANON);
}

static void write_thp(void)
{
	write_to(KIND_THP);
}

static void write_shmem(void)
{
	write_to(KIND_SHMEM);
}

static void write_file(void)
{
	write_to(KIND_FILE);
}

static void read_only_reads(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start = map(kind, PAGES * PAGE);
		unsigned char *want = new_set(PAGES);

		arm(start, PAGES * PAGE, true);
		for (size_t page = 0; page < PAGES; page += 2)
			expect_contents(kind, start, page);
		expect_clean("read only", start, PAGES);
		for (size_t page = 0; page < PAGES; page += 3) {
			store(start + page * PAGE, 1);
			want[page] = 1;
		}
		expect_scan("written after reads", start, want, PAGES);
		expect_clean("scanned again", start, PAGES);
	}
}

/* Armed again after it was discarded, which leaves it empty. */
static void discarded(void)
{
	for (enum kind kind = 0; kind <= KIND_THP; kind++) {
		char *start = map(kind, HUGE);
		unsigned char *want = new_set(HUGE_PAGES);

		for (size_t i = 0; i < HUGE_PAGES; i++)
			store(start + i * PAGE, 3);
		expect_written("at first", start, HUGE_PAGES);
		check(madvise(start, HUGE, MADV_DONTNEED) == 0, "madvise: %s",
		      strerror(errno));
		expect_written("discarded", start, HUGE_PAGES);
		expect_clean("armed while empty", start, HUGE_PAGES);
		store(start + 7 * PAGE, 1);
		want[7] = 1;
		expect_scan("after a write", start, want, HUGE_PAGES);
		expect_contents(kind, start, 8);
	}
}

/* The child is not tracked, and has nothing where the parent had nothing. */
static void forked(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start = map(kind, PAGES * PAGE);
		unsigned char *want = new_set(PAGES);
		int status = 0;
		pid_t child;

		arm(start, PAGES * PAGE, true);
		store(start + 2 * PAGE, 5);
		want[2] = 1;
		child = fork();
		if (child == 0) {
			if (kind != KIND_SHMEM)
				for (size_t i = 0; i < PAGES; i += 3)
					store(start + i * PAGE, 6);
			expect_contents(kind, start, 1);
			check(load(start + 2 * PAGE) == 5, "not inherited");
			_exit(0);
		}
		check(child > 0 && waitpid(child, &status, 0) == child, "fork");
		if (status != 0)
			_exit(1);
		store(start + 11 * PAGE, 7);
		want[11] = 1;
		expect_contents(kind, start, 3);
		expect_scan("beside a child", start, want, PAGES);
		expect_clean("scanned again", start, PAGES);
	}
}

/* By the kernel, which takes another way to the page than a store. */
static void kernel_writes(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start = map(kind, PAGES * PAGE);
		unsigned char *want = new_set(PAGES);
		int ends[2];

		check(pipe(ends) == 0, "pipe: %s", strerror(errno));
		arm(start, PAGES * PAGE, true);
		for (size_t page = 1; page < PAGES; page += 7) {
			check(write(ends[1], "12345678", 8) == 8 &&
				      read(ends[0], start + page * PAGE, 8) ==
					      8,
			      "%s: read(2) into it: %s", kind_names[kind],
			      strerror(errno));
			want[page] = 1;
		}
		expect_scan("read(2) into it", start, want, PAGES);
		expect_clean("scanned again", start, PAGES);
		for (size_t page = 1; page < PAGES; page += 7)
			check(memcmp(start + page * PAGE, "12345678", 8) == 0,
			      "%s: other contents", kind_names[kind]);
		close(ends[0]);
		close(ends[1]);
	}
}

/* Memory that may not be written to is not made writable. */
static void read_only_mapping(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start = map(kind, PAGES * PAGE);
		int ends[2];

		check(pipe(ends) == 0, "pipe: %s", strerror(errno));
		arm(start, PAGES * PAGE, true);
		check(mprotect(start, PAGES * PAGE, PROT_READ) == 0,
		      "mprotect: %s", strerror(errno));
		check(write(ends[1], "x", 1) == 1 &&
			      read(ends[0], start, 1) == -1 && errno == EFAULT,
		      "%s: the kernel writes to read-only memory",
		      kind_names[kind]);
		expect_contents(kind, start, 0);
		expect_clean("read-only", start, PAGES);
		close(ends[0]);
		close(ends[1]);
	}
}

const struct test empty_tests[] = {
	{ "empty_write_anon", write_anon },
	{ "empty_write_thp", write_thp },
	{ "empty_write_shmem", write_shmem },
	{ "empty_write_file", write_file },
	{ "empty_read_only_reads", read_only_reads },
	{ "empty_discarded", discarded },
	{ "empty_forked", forked },
	{ "empty_kernel_writes", kernel_writes },
	{ "empty_read_only_mapping", read_only_mapping },
	{ 0 },
};
