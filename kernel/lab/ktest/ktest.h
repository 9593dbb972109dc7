/* SPDX-License-Identifier: MIT */
/*
 * ktest.h: how a test is written: it maps memory, stores, scans, and says what
 * the kernel must have reported.
 *
 * Each test runs in a process of its own, with a userfaultfd of asynchronous
 * write protection and its pagemap open.  The first check that fails ends it.
 */
#ifndef KTEST_H
#define KTEST_H

#include "calls.h"

#include <stdio.h>

struct test {
	const char *name;
	void (*run)(void);
};

/* Each ends with a test without a name. */
extern const struct test hugetlb_tests[];
extern const struct test gather_tests[];
extern const struct test race_tests[];
extern const struct test again_tests[];
extern const struct test protect_tests[];
extern const struct test empty_tests[];
extern const struct test sync_tests[];
extern const struct test huge_tests[];
extern const struct test around_tests[];
extern const struct test around_shared_tests[];
extern const struct test density_tests[];
extern const struct test bits_tests[];
extern const struct test bits_file_tests[];
extern const struct test resolve_tests[];
extern const struct test folded_tests[];
extern const struct test granted_tests[];
extern const struct test random_tests[];

struct settings {
	bool fixed;  /* the kernel has the series of patches */
	bool coarse; /* one of its switches makes it report more */
	uint64_t seed;
	size_t steps;
};
extern struct settings settings;

/* Of the test that runs. */
extern int uffd, pagemap;

/* Said before what failed. */
extern char context[128];

_Noreturn void fail(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
_Noreturn void skip(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* check(condition, "what is so instead", ...) */
#define check(condition, ...)              \
	do {                               \
		if (!(condition))          \
			fail(__VA_ARGS__); \
	} while (0)

/* ---- memory ---- */

enum kind {
	KIND_ANON, /* 4 KiB pages */
	KIND_THP,
	KIND_SHMEM,
	KIND_FILE, /* private, of a file whose byte N of page P is P */
	KINDS
};
extern const char *const kind_names[KINDS];

/* Address space in which nothing is, aligned to huge pages. */
char *reserve(size_t size);
/* Maps at this place, which was reserved, and registers; untouched. */
void map_at(enum kind kind, char *start, size_t size);
char *map(enum kind kind, size_t size);
char *map_hugetlb(size_t pages);
void arm(char *start, size_t size, bool on);

/* Makes a THP of each 2 MiB, or skips the test. */
void populate_thp(char *start, size_t size);
size_t thp_bytes(void);
/* Moves what it can to swap; the number of pages that are there now. */
size_t swap_out(char *start, size_t size);
void need_swap(void);

static inline void store(char *page, uint64_t value)
{
	*(volatile uint64_t *)page = value;
}

static inline uint64_t load(const char *page)
{
	return *(const volatile uint64_t *)page;
}

/* Stores, if the page may be stored to; else false, instead of a signal. */
bool can_store(char *page, uint64_t value);

/* Minor faults of this process so far. */
long faults(void);

/* ---- sets of pages: one byte a page ---- */

/* The pages that scans from start to end report, how often each. */
void scan_pages(char *start, size_t pages, uint64_t flags,
		unsigned char *times);
/* The same, with room for so many runs and pages a call. */
void scan_limited(char *start, size_t pages, uint64_t flags, size_t room,
		  size_t max_pages, unsigned char *times);
/* Says where they differ first; a coarse kernel may report more. */
void expect_pages(const char *what, const unsigned char *got,
		  const unsigned char *want, size_t pages);
/* A scan that collects and arms reports exactly what want says. */
void expect_scan(const char *what, char *start, const unsigned char *want,
		 size_t pages);
/* Of a part alone, and nothing of the rest is changed by it; spends want. */
void expect_part(char *start, size_t pages, size_t from, size_t to,
		 unsigned char *want);
/* One that collects and arms reports nothing, or everything. */
void expect_clean(const char *what, char *start, size_t pages);
void expect_written(const char *what, char *start, size_t pages);
unsigned char *new_set(size_t pages);

#endif
