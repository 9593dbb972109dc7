/* SPDX-License-Identifier: MIT */
/* live_lost.c: mappings that are replaced, moved or protected under a handle.
 */
#include "support_live.h"

#include <sys/mman.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static uint64_t range_flags(struct wtrack *t, const void *addr)
{
	struct wtrack_range_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_query(t, addr, &info), 0);
	return info.flags;
}

static void map_over(const struct mem *m, size_t page, size_t n)
{
	void *at = page_of(m, page);

	assert_ptr_equal(mmap(at, n * m->page, PROT_READ | PROT_WRITE,
			      ANON | MAP_FIXED, -1, 0),
			 at);
}

/* Pages [from, to) are reported as lost. */
static void expect_lost(struct wtrack *t, const struct mem *m, size_t from,
			size_t to, unsigned how)
{
	struct view v;

	view_collect(&v, t, m, 3, how);
	for (size_t i = from; i < to; i++)
		assert_true(v.flags[i] & WTRACK_RUN_LOST);
}

/* What is written beside the lost part is still known exactly. */
static void expect_rest_exact(struct wtrack *t, const struct mem *m,
			      size_t from, size_t to)
{
	struct view v;

	clear_all(t);
	for (size_t i = 0; i < m->pages; i += 3)
		if (i < from || i >= to)
			store(m, i);
	view_collect(&v, t, m, 3, BOTH);
	for (size_t i = 0; i < m->pages; i++)
		if (i < from || i >= to)
			assert_int_equal(v.flags[i],
					 i % 3 ? 0 : WTRACK_RUN_WRITTEN);
}

/*
 * With free address space above it, so that no new mapping is put into the
 * holes that come.
 */
static struct mem with_room(void)
{
	struct mem room = mem_map(MEM_ANON, 256, false);
	struct mem m = mem_map(MEM_ANON, 16, true);

	mem_unmap(&room);
	return m;
}

static struct mem watched(struct wtrack *t)
{
	struct mem m = with_room();

	watch_pages(t, &m, 0, 16, 0);
	return m;
}

static void unmapped_pages_are_lost_until_unwatched(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = watched(t);

	store(&m, 2);
	assert_int_equal(munmap(page_of(&m, 5), 3 * m.page), 0);
	assert_int_equal(range_flags(t, page_of(&m, 6)), WTRACK_RANGE_LOST);
	assert_int_equal(range_flags(t, page_of(&m, 4)), 0);
	for (int i = 0; i < 3; i++) {
		expect_lost(t, &m, 5, 8, i ? BOTH : WTRACK_GET);
		expect_rest_exact(t, &m, 5, 8);
	}
	assert_true(stats_of(t).lost > 0);
	unwatch_pages(t, &m, 5, 3);
	assert_int_equal(look_at(t, &m, 6), 0);
	store(&m, 4);
	store(&m, 8);
	expect_pages(t, &m, BOTH, 4, 8);
	wtrack_close(t);
	mem_unmap(&m);
}

/* A run ends where the mapping does. */
static void stores_beside_lost_pages_are_known(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = watched(t);
	struct view v;

	assert_int_equal(munmap(page_of(&m, 5), 3 * m.page), 0);
	store(&m, 4);
	store(&m, 8);
	for (int i = 0; i < 2; i++) {
		view_collect(&v, t, &m, 3, i ? BOTH : WTRACK_GET);
		for (size_t page = 5; page < 8; page++)
			assert_int_equal(v.flags[page], WTRACK_RUN_LOST);
		assert_int_equal(v.flags[4], WTRACK_RUN_WRITTEN);
		assert_int_equal(v.flags[8], WTRACK_RUN_WRITTEN);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

static void replaced_pages_are_lost(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = watched(t);

	map_over(&m, 5, 3);
	assert_int_equal(range_flags(t, page_of(&m, 6)), WTRACK_RANGE_LOST);
	assert_int_equal(range_flags(t, page_of(&m, 8)), 0);
	store(&m, 6);
	expect_lost(t, &m, 5, 8, WTRACK_GET);
	expect_lost(t, &m, 5, 8, BOTH);
	expect_rest_exact(t, &m, 5, 8);
	store(&m, 5);
	assert_int_not_equal(look_at(t, &m, 5), 0);
	/* Watched again, all is well. */
	unwatch_pages(t, &m, 5, 3);
	watch_pages(t, &m, 5, 3, 0);
	clear_all(t);
	store(&m, 6);
	expect_pages(t, &m, BOTH, 6);
	assert_int_equal(range_flags(t, page_of(&m, 6)), 0);
	wtrack_close(t);
	mem_unmap(&m);
}

static void unmapped_and_mapped_again_is_lost(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = watched(t);

	assert_int_equal(munmap(m.base, 16 * m.page), 0);
	map_over(&m, 0, 16);
	expect_lost(t, &m, 0, 16, WTRACK_GET);
	expect_lost(t, &m, 0, 16, BOTH);
	unwatch_pages(t, &m, 0, 16);
	watch_pages(t, &m, 0, 16, 0);
	store(&m, 15);
	expect_pages(t, &m, BOTH, 15);
	wtrack_close(t);
	mem_unmap(&m);
}

static void pages_that_moved_away_are_lost(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = watched(t);
	void *to = mmap(NULL, 4 * m.page, PROT_NONE, ANON, -1, 0);

	/* All of them: before Linux 6.17 only one mapping can be moved. */
	for (size_t i = 8; i < 12; i++)
		store(&m, i);
	assert_ptr_equal(mremap(page_of(&m, 8), 4 * m.page, 4 * m.page,
				MREMAP_MAYMOVE | MREMAP_FIXED, to),
			 to);
	assert_int_equal(range_flags(t, page_of(&m, 8)), WTRACK_RANGE_LOST);
	expect_lost(t, &m, 8, 12, WTRACK_GET);
	expect_lost(t, &m, 8, 12, BOTH);
	expect_rest_exact(t, &m, 8, 12);
	assert_int_equal(*((char *)to + m.page + 5), 1);
	/* Where it moved to can be watched, as new memory. */
	assert_int_equal(wtrack_watch(t, to, 4 * m.page, 0), 0);
	*((volatile char *)to + m.page) = 1;
	assert_true(is_dirty(t, (char *)to + m.page));
	assert_false(is_dirty(t, to));
	assert_int_equal(wtrack_unwatch(t, to, 4 * m.page), 0);
	munmap(to, 4 * m.page);
	wtrack_close(t);
	mem_unmap(&m);
}

static void growing_in_place_keeps_what_is_watched(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = with_room();

	assert_int_equal(munmap(page_of(&m, 8), 8 * m.page), 0);
	watch_pages(t, &m, 0, 8, 0);
	store(&m, 3);
	if (mremap(m.base, 8 * m.page, 16 * m.page, 0) == MAP_FAILED) {
		/* Somebody took the place: then there is nothing to see. */
		wtrack_close(t);
		munmap(m.base, 8 * m.page);
		return;
	}
	store(&m, 12);
	expect_pages(t, &m, BOTH, 3);
	assert_int_equal(range_flags(t, m.base), 0);
	store(&m, 7);
	store(&m, 8);
	expect_pages(t, &m, BOTH, 7);
	/* The rest may be watched too. */
	watch_pages(t, &m, 8, 8, 0);
	store(&m, 8);
	store(&m, 0);
	expect_pages(t, &m, BOTH, 0, 8);
	wtrack_close(t);
	mem_unmap(&m);
}

static void shrinking_loses_the_tail(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = watched(t);

	assert_ptr_equal(mremap(m.base, 16 * m.page, 10 * m.page, 0), m.base);
	expect_lost(t, &m, 10, 16, WTRACK_GET);
	expect_lost(t, &m, 10, 16, BOTH);
	expect_rest_exact(t, &m, 10, 16);
	unwatch_pages(t, &m, 10, 6);
	expect_none(t, &m);
	wtrack_close(t);
	munmap(m.base, 10 * m.page);
}

/* A handle whose memory is all gone can be closed, unwatched and used. */
static void nothing_is_left_to_track(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem other = mem_map(MEM_ANON, 4, true);
	struct mem m = watched(t);

	assert_int_equal(munmap(m.base, 16 * m.page), 0);
	assert_int_equal(wtrack_unwatch(t, m.base, 8 * m.page), 0);
	clear_all(t);
	watch_pages(t, &other, 0, 4, 0);
	store(&other, 1);
	assert_true(is_dirty(t, page_of(&other, 1)));
	wtrack_close(t);
	mem_unmap(&other);
}

/* Initial pages that are lost: dirty as before, and lost once it is known. */
static void an_initial_range_can_be_lost(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = with_room();
	struct view v;

	watch_pages(t, &m, 0, 16, WTRACK_WATCH_DIRTY);
	assert_int_equal(munmap(page_of(&m, 4), 4 * m.page), 0);
	view_collect(&v, t, &m, 8, WTRACK_GET);
	for (size_t i = 0; i < 16; i++)
		assert_int_not_equal(v.flags[i], 0);
	view_collect(&v, t, &m, 8, BOTH);
	for (size_t i = 0; i < 16; i++)
		assert_int_not_equal(v.flags[i], 0);
	view_collect(&v, t, &m, 8, BOTH);
	for (size_t i = 4; i < 8; i++)
		assert_true(v.flags[i] & WTRACK_RUN_LOST);
	unwatch_pages(t, &m, 4, 4);
	clear_all(t);
	clear_all(t);
	store(&m, 9);
	expect_pages(t, &m, BOTH, 9);
	wtrack_close(t);
	mem_unmap(&m);
}

/*
 * Memory that was read-only when it was watched, made writable behind the
 * handle's back: a store there is never "clean". [G3]
 */
static void writable_behind_our_back(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 8, true);

	assert_int_equal(mprotect(page_of(&m, 2), 4 * m.page, PROT_READ), 0);
	watch_pages(t, &m, 0, 8, 0);
	expect_none(t, &m);
	assert_int_equal(
		mprotect(page_of(&m, 2), 4 * m.page, PROT_READ | PROT_WRITE),
		0);
	store(&m, 3);
	store(&m, 7);
	assert_int_not_equal(look_at(t, &m, 3), 0);
	assert_int_not_equal(look_at(t, &m, 7), 0);
	expect_pages(t, &m, BOTH, 3, 7);
	store(&m, 3);
	assert_int_not_equal(look_at(t, &m, 3), 0);
	wtrack_close(t);
	mem_unmap(&m);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_NEEDS(unmapped_pages_are_lost_until_unwatched,
			   WTRACK_CAP_LOSS),
		CASE_NEEDS(stores_beside_lost_pages_are_known, WTRACK_CAP_LOSS),
		CASE_NEEDS(replaced_pages_are_lost, WTRACK_CAP_LOSS),
		CASE_NEEDS(unmapped_and_mapped_again_is_lost, WTRACK_CAP_LOSS),
		CASE_NEEDS(pages_that_moved_away_are_lost, WTRACK_CAP_LOSS),
		CASE_EACH(growing_in_place_keeps_what_is_watched),
		CASE_NEEDS(shrinking_loses_the_tail, WTRACK_CAP_LOSS),
		CASE_EACH(nothing_is_left_to_track),
		CASE_NEEDS(an_initial_range_can_be_lost, WTRACK_CAP_LOSS),
		CASE_EACH(writable_behind_our_back),
	};

	return RUN_CASES("lost", cases);
}
