/* SPDX-License-Identifier: MIT */
/* live_protect.c: memory of every protection, and protection that changes. */
#include "support_live.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)
#define RW   (PROT_READ | PROT_WRITE)

static void protect(const struct mem *m, size_t page, size_t n, int prot)
{
	assert_int_equal(mprotect(page_of(m, page), n * m->page, prot), 0);
}

/* As the kernel shows it: "rwx" and the like. */
static void assert_protection(const struct mem *m, size_t page,
			      const char *expected)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uintptr_t addr = (uintptr_t)page_of(m, page), start, end;
	char line[256], perm[8];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &start, &end,
			   perm) != 3)
			continue;
		if (start <= addr && addr < end) {
			perm[3] = 0;
			assert_string_equal(perm, expected);
			fclose(f);
			return;
		}
	}
	fail_msg("page %zu is not mapped", page);
}

/* Two pages of each protection there is. */
static const struct {
	int prot;
	const char *text;
} kinds[] = {
	{ RW, "rw-" },
	{ PROT_NONE, "---" },
	{ PROT_READ, "r--" },
	{ RW | PROT_EXEC, "rwx" },
	{ PROT_READ | PROT_EXEC, "r-x" },
	{ RW, "rw-" },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void every_protection_is_watched_and_given_back(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 2 * N_KINDS, true);

	for (size_t k = 0; k < N_KINDS; k++)
		protect(&m, 2 * k, 2, kinds[k].prot);
	watch_pages(t, &m, 0, m.pages, 0);
	expect_none(t, &m);
	store(&m, 1);
	store(&m, 7);
	store(&m, 11);
	expect_pages(t, &m, BOTH, 1, 7, 11);
	store(&m, 0);
	store(&m, 6);
	expect_pages(t, &m, BOTH, 0, 6);
	/* By parts that cross protections. */
	unwatch_pages(t, &m, 1, 4);
	unwatch_pages(t, &m, 0, 1);
	unwatch_pages(t, &m, 5, 7);
	for (size_t k = 0; k < N_KINDS; k++) {
		assert_protection(&m, 2 * k, kinds[k].text);
		assert_protection(&m, 2 * k + 1, kinds[k].text);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

static void every_protection_can_be_initial_and_marked(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 2 * N_KINDS, true);
	struct view v;

	for (size_t k = 0; k < N_KINDS; k++)
		protect(&m, 2 * k, 2, kinds[k].prot);
	watch_pages(t, &m, 0, m.pages, WTRACK_WATCH_DIRTY);
	view_collect(&v, t, &m, 5, BOTH);
	for (size_t i = 0; i < m.pages; i++)
		assert_int_equal(v.flags[i], WTRACK_RUN_INITIAL);
	expect_none(t, &m);
	assert_int_equal(wtrack_mark(t, m.base, m.pages * m.page), 0);
	view_collect(&v, t, &m, 5, BOTH);
	for (size_t i = 0; i < m.pages; i++)
		assert_int_not_equal(v.flags[i], 0);
	expect_none(t, &m);
	/* Marking gave nobody a right that it did not have. */
	assert_int_equal(wtrack_mark(t, m.base, m.pages * m.page), 0);
	wtrack_close(t);
	for (size_t k = 0; k < N_KINDS; k++)
		assert_protection(&m, 2 * k, kinds[k].text);
	mem_unmap(&m);
}

/* Code in watched memory runs, as it did before. */
static void watched_code_runs(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 2, true);
#if defined(__x86_64__)
	static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };
#elif defined(__aarch64__)
	static const unsigned char code[] = { 0x40, 0x05, 0x80, 0x52,
					      0xc0, 0x03, 0x5f, 0xd6 };
#else
	static const unsigned char code[] = { 0 };
#endif
	int (*function)(void);

	memcpy(m.base, code, sizeof(code));
	__builtin___clear_cache(m.base, m.base + sizeof(code));
	protect(&m, 0, 2, RW | PROT_EXEC);
	watch_pages(t, &m, 0, 2, 0);
	memcpy(&function, &m.base, sizeof(function));
	if (sizeof(code) > 1)
		assert_int_equal(function(), 42);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

/*
 * The application's own mprotect() over watched memory, as an allocator or a
 * collector does it: nothing is lost and nothing is invented.
 */
static void the_application_may_protect(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 32, true);

	watch_pages(t, &m, 0, 32, 0);
	store(&m, 4);
	store(&m, 12);
	store(&m, 20);
	protect(&m, 0, 8, PROT_READ);
	protect(&m, 8, 8, PROT_NONE);
	expect_pages(t, &m, WTRACK_GET, 4, 12, 20);
	protect(&m, 0, 16, RW);
	store(&m, 5);
	store(&m, 13);
	expect_pages(t, &m, BOTH, 4, 5, 12, 13, 20);
	/* Cleared while it can't be written, then writable again. */
	store(&m, 6);
	store(&m, 14);
	protect(&m, 0, 8, PROT_READ);
	protect(&m, 8, 8, PROT_NONE);
	expect_pages(t, &m, BOTH, 6, 14);
	protect(&m, 0, 16, RW);
	expect_none(t, &m);
	store(&m, 6);
	store(&m, 15);
	expect_pages(t, &m, BOTH, 6, 15);
	wtrack_close(t);
	mem_unmap(&m);
}

/* The same where the backend uses protection itself: a superset at least. */
static void the_application_protects_and_nothing_is_lost(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 32, true);

	watch_pages(t, &m, 0, 32, 0);
	for (int round = 0; round < 10; round++) {
		store(&m, 4);
		protect(&m, 0, 16, RW);
		store(&m, 5);
		store(&m, 20);
		assert_int_not_equal(look_at(t, &m, 4), 0);
		assert_int_not_equal(look_at(t, &m, 5), 0);
		assert_int_not_equal(look_at(t, &m, 20), 0);
		expect_pages(t, &m, BOTH, 4, 5, 20);
		store(&m, 5);
		expect_pages(t, &m, BOTH, 5);
		expect_none(t, &m);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* A part that the kernel keeps apart (its own mapping) is armed with the rest.
 */
static void mappings_split_by_advice_are_one_range(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct view v;

	assert_int_equal(madvise(page_of(&m, 4), 4 * m.page, MADV_DONTDUMP), 0);
	watch_pages(t, &m, 0, 16, 0);
	assert_int_equal(madvise(page_of(&m, 10), 2 * m.page, MADV_DONTDUMP),
			 0);
	for (size_t i = 3; i < 12; i++)
		store(&m, i);
	view_collect(&v, t, &m, 8, BOTH);
	/*
	 * All of these mappings but the first are dirty as a whole, which makes
	 * softdirty doubt them, by words of 64 pages: a word may end behind it.
	 */
	assert_in_range(v.runs, 1, runs_on("softdirty") ? 2 : 1);
	for (size_t i = 3; i < 12; i++)
		assert_int_not_equal(v.flags[i], 0);
	expect_none(t, &m);
	store(&m, 11);
	store(&m, 4);
	expect_pages(t, &m, BOTH, 4, 11);
	unwatch_pages(t, &m, 0, 16);
	wtrack_close(t);
	mem_unmap(&m);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(every_protection_is_watched_and_given_back),
		CASE_EACH(every_protection_can_be_initial_and_marked),
		CASE_EACH(watched_code_runs),
		/* Where there is no handler, protection is not the backend's.
		 */
		CASE_NEEDS(the_application_may_protect, WTRACK_CAP_PROTECT),
		CASE_EACH(the_application_protects_and_nothing_is_lost),
		CASE_EACH(mappings_split_by_advice_are_one_range),
	};

	return RUN_CASES("protect", cases);
}
