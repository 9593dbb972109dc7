/* SPDX-License-Identifier: MIT */
/* live_collect.c: what was written is reported, once, on every kind of memory.
 */
#include "support_live.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

static struct mem watched(struct wtrack *t, enum mem_kind kind, bool populate,
			  unsigned flags)
{
	struct mem m = mem_map(kind, 8, populate);

	watch_pages(t, &m, 0, 8, flags);
	return m;
}

static void unwatched(struct wtrack *t, struct mem *m)
{
	unwatch_pages(t, m, 0, m->pages);
	mem_unmap(m);
}

/* [G1] [G2] */
static void report_once(struct wtrack *t, enum mem_kind kind)
{
	for (int populate = 0; populate < 2; populate++) {
		struct mem m = watched(t, kind, populate, 0);

		expect_none(t, &m);
		store(&m, 1);
		store(&m, 2);
		store(&m, 6);
		expect_pages(t, &m, WTRACK_GET, 1, 2, 6);
		expect_pages(t, &m, BOTH, 1, 2, 6);
		expect_none(t, &m);
		store(&m, 2);
		store(&m, 2);
		expect_pages(t, &m, BOTH, 2);
		expect_none(t, &m);
		unwatched(t, &m);
	}
}

static void a_store_is_reported_until_cleared(void **state)
{
	for_each_kind(report_once, *state);
}

static void look_twice(struct wtrack *t, enum mem_kind kind)
{
	struct mem m = watched(t, kind, true, 0);
	struct view v[2];

	store(&m, 0);
	store(&m, 5);
	for (int i = 0; i < 10; i++) {
		view_collect(&v[i != 0], t, &m, 1 + (size_t)i, WTRACK_GET);
		assert_memory_equal(v[0].flags, v[i != 0].flags,
				    sizeof(v[0].flags));
	}
	/* [K-get-is-pure] A look must not arm: this store comes between. */
	store(&m, 5);
	store(&m, 3);
	expect_pages(t, &m, BOTH, 0, 3, 5);
	unwatched(t, &m);
}

static void looking_changes_nothing(void **state)
{
	for_each_kind(look_twice, *state);
}

static void clear_only(struct wtrack *t, enum mem_kind kind)
{
	struct mem m = watched(t, kind, true, 0);

	store(&m, 0);
	store(&m, 7);
	clear_all(t);
	expect_none(t, &m);
	store(&m, 4);
	expect_pages(t, &m, WTRACK_GET, 4);
	assert_int_equal(
		wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR | WTRACK_STOPPED),
		0);
	expect_none(t, &m);
	unwatched(t, &m);
}

static void clearing_alone_makes_all_clean_and_returns_0(void **state)
{
	for_each_kind(clear_only, *state);
}

static void read_only(struct wtrack *t, enum mem_kind kind)
{
	for (int populate = 0; populate < 2; populate++) {
		struct mem m = watched(t, kind, populate, 0);
		volatile char sum = 0;

		for (size_t i = 0; i < m.pages; i++)
			sum = (char)(sum + *page_of(&m, i));
		expect_none(t, &m);
		store(&m, 3);
		expect_pages(t, &m, BOTH, 3);
		unwatched(t, &m);
	}
}

static void reading_makes_nothing_dirty(void **state)
{
	for_each_kind(read_only, *state);
}

static void all_initial(struct wtrack *t, enum mem_kind kind)
{
	for (int populate = 0; populate < 2; populate++) {
		struct mem m = watched(t, kind, populate, WTRACK_WATCH_DIRTY);
		struct view v;

		store(&m, 1);
		for (int i = 0; i < 3; i++) {
			view_collect(&v, t, &m, 4, i == 2 ? BOTH : WTRACK_GET);
			for (size_t p = 0; p < m.pages; p++)
				assert_int_equal(v.flags[p],
						 WTRACK_RUN_INITIAL);
			assert_int_equal(v.runs, 1);
		}
		expect_none(t, &m);
		store(&m, 6);
		expect_pages(t, &m, BOTH, 6);
		unwatched(t, &m);
	}
}

static void a_range_watched_dirty_is_initial_until_cleared(void **state)
{
	for_each_kind(all_initial, *state);
}

static void contents(struct wtrack *t, enum mem_kind kind)
{
	struct mem m = mem_map(kind, 8, true);
	char before[8];

	for (size_t i = 0; i < 8; i++) {
		memset(page_of(&m, i), (int)('a' + i), 64);
		before[i] = page_of(&m, i)[9];
	}
	watch_pages(t, &m, 0, 8, 0);
	store(&m, 2);
	clear_all(t);
	unwatch_pages(t, &m, 0, 8);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(page_of(&m, i)[9], before[i]);
		store(&m, i);
	}
	mem_unmap(&m);
}

static void watching_changes_no_contents(void **state)
{
	for_each_kind(contents, *state);
}

static void from_kernel(struct wtrack *t, enum mem_kind kind)
{
	struct mem m = watched(t, kind, true, 0);
	size_t half = m.page / 2;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "0123456789", 10), 10);
	/* The border of two pages, and one. */
	assert_int_equal(read(fds[0], page_of(&m, 2) - 2, 4), 4);
	assert_int_equal(read(fds[0], page_of(&m, 5) + half, 6), 6);
	expect_pages(t, &m, BOTH, 1, 2, 5);
	expect_none(t, &m);
	close(fds[0]);
	close(fds[1]);
	unwatched(t, &m);
}

static void what_the_kernel_stores_is_reported(void **state)
{
	for_each_kind(from_kernel, *state);
}

static uint64_t pages_in(const struct mem *m, const struct wtrack_run *runs,
			 ssize_t n)
{
	uint64_t found = 0;

	for (ssize_t i = 0; i < n; i++) {
		size_t p = (runs[i].start - (uintptr_t)m->base) / m->page;

		for (; page_of(m, p) < (char *)runs[i].end; p++)
			found |= UINT64_C(1) << p;
	}
	return found;
}

/* The array becomes dirty by being filled: in this answer or in the next. */
static void runs_may_lie_in_watched_memory(void **state)
{
	const uint64_t even = UINT64_C(0x5555555555555555);
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 64, true);
	struct wtrack_run *runs = (void *)(page_of(&m, 42) - m.page / 4);
	ssize_t n;

	watch_pages(t, &m, 0, 64, 0);
	for (int round = 0; round < 5; round++) {
		uint64_t found, written = even | UINT64_C(1) << 41;

		for (size_t i = 0; i < 64; i += 2)
			store(&m, i);
		n = wtrack_collect(t, NULL, runs, m.page / sizeof(*runs), BOTH);
		assert_true(n > 0);
		found = pages_in(&m, runs, n);
		assert_int_equal(found & even, even);
		if (is_precise(t))
			assert_int_equal(found & ~written, 0);
		assert_true((found >> 41 & 1) || look_at(t, &m, 41));
		clear_all(t);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* Private memory given back reads as zeros: a change like a store. */
static void discarded_pages_are_dirty(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = watched(t, MEM_ANON, true, 0);

	assert_int_equal(madvise(page_of(&m, 2), 2 * m.page, MADV_DONTNEED), 0);
	expect_pages(t, &m, BOTH, 2, 3);
	expect_none(t, &m);
	assert_int_equal(madvise(page_of(&m, 3), m.page, MADV_DONTNEED), 0);
	assert_int_equal(*page_of(&m, 3), 0);
	expect_pages(t, &m, BOTH, 3);
	unwatched(t, &m);
	wtrack_close(t);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(a_store_is_reported_until_cleared),
		CASE_EACH(looking_changes_nothing),
		CASE_EACH(clearing_alone_makes_all_clean_and_returns_0),
		CASE_EACH(reading_makes_nothing_dirty),
		CASE_EACH(a_range_watched_dirty_is_initial_until_cleared),
		CASE_EACH(watching_changes_no_contents),
		CASE_NEEDS(what_the_kernel_stores_is_reported,
			   WTRACK_CAP_KERNEL_WRITES),
		CASE_EACH(runs_may_lie_in_watched_memory),
		CASE_NEEDS(discarded_pages_are_dirty, WTRACK_CAP_DISCARD),
	};

	return RUN_CASES("collect", cases);
}
