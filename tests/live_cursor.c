/* SPDX-License-Identifier: MIT */
/* live_cursor.c: collections in parts, and answers that are cut short. */
#include "support_live.h"

#include <errno.h>
#include <string.h>

#define BOTH    (WTRACK_GET | WTRACK_CLEAR)
#define PAGES_N 2048

/* Every `step`th page is written. */
static void store_every(const struct mem *m, size_t step)
{
	for (size_t i = 0; i < m->pages; i += step)
		store(m, i);
}

static void expect_every(const struct view *v, struct wtrack *t,
			 const struct mem *m, size_t step)
{
	size_t pages[PAGES_N], n = 0;

	for (size_t i = 0; i < m->pages; i += step)
		pages[n++] = i;
	view_expect(v, t, m, pages, n);
}

/* [G6] 513 and more: a kernel's chunk is 512 runs. */
static void short_arrays_lose_nothing(void **state)
{
	static const size_t sizes[] = { 1,   2,   3,   31,  32,   33,  63,
					511, 512, 513, 600, 1024, 4096 };
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, PAGES_N, true);
	struct view v;

	watch_pages(t, &m, 0, PAGES_N, 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		store_every(&m, 2);
		view_collect(&v, t, &m, sizes[i], WTRACK_GET);
		expect_every(&v, t, &m, 2);
		if (is_precise(t))
			assert_int_equal(v.runs, PAGES_N / 2);
		view_collect(&v, t, &m, sizes[i], BOTH);
		expect_every(&v, t, &m, 2);
		expect_none(t, &m);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* [G6] */
static void what_did_not_fit_keeps_its_state(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct wtrack_run runs[2];

	watch_pages(t, &m, 0, 16, 0);
	for (size_t i = 1; i < 16; i += 2)
		store(&m, i);
	assert_int_equal(wtrack_collect(t, NULL, runs, 2, BOTH), 2);
	assert_ptr_equal((void *)runs[1].start, page_of(&m, 3));
	expect_pages(t, &m, WTRACK_GET, 5, 7, 9, 11, 13, 15);
	/* Without a cursor each call begins at the beginning. */
	store(&m, 0);
	assert_int_equal(wtrack_collect(t, NULL, runs, 2, BOTH), 2);
	assert_ptr_equal((void *)runs[0].start, page_of(&m, 0));
	assert_ptr_equal((void *)runs[1].start, page_of(&m, 5));
	expect_pages(t, &m, BOTH, 7, 9, 11, 13, 15);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

static void an_array_that_just_fits_ends_at_the_next_call(void **state)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct wtrack_run runs[3];

	watch_pages(t, &m, 0, 16, 0);
	store(&m, 3);
	store(&m, 5);
	store(&m, 15);
	assert_int_equal(wtrack_collect(t, &at, runs, 3, BOTH), 3);
	assert_int_equal(wtrack_collect(t, &at, runs, 3, BOTH), 0);
	assert_int_equal(wtrack_collect(t, &at, runs, 3, BOTH), 0);
	expect_none(t, &m);
	wtrack_close(t);
	mem_unmap(&m);
}

static struct wtrack_cursor part(const struct mem *m, size_t from, size_t to)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;

	at.next = (uintptr_t)page_of(m, from);
	at.end = to ? (uintptr_t)page_of(m, to) : 0;
	return at;
}

static void a_part_is_collected_alone(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct wtrack_cursor at = part(&m, 4, 8);
	struct wtrack_run runs[4];

	watch_pages(t, &m, 0, 16, 0);
	for (size_t i = 2; i < 10; i++)
		store(&m, i);
	assert_int_equal(wtrack_collect(t, &at, runs, 4, WTRACK_GET), 1);
	assert_ptr_equal((void *)runs[0].start, page_of(&m, 4));
	assert_ptr_equal((void *)runs[0].end, page_of(&m, 8));
	assert_int_equal(at.next, at.end);
	at = part(&m, 4, 8);
	assert_int_equal(wtrack_collect(t, &at, runs, 4, BOTH), 1);
	if (is_precise(t))
		expect_pages(t, &m, WTRACK_GET, 2, 3, 8, 9);
	at = part(&m, 9, 0);
	assert_int_equal(wtrack_collect(t, &at, NULL, 0, WTRACK_CLEAR), 0);
	expect_pages(t, &m, WTRACK_GET, 2, 3, 8);
	at = part(&m, 0, 3);
	assert_int_equal(wtrack_collect(t, &at, NULL, 0, WTRACK_CLEAR), 0);
	assert_int_equal(at.next, at.end);
	expect_pages(t, &m, BOTH, 3, 8);
	wtrack_close(t);
	mem_unmap(&m);
}

static void a_part_without_watched_memory_is_empty(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	struct wtrack_cursor at = part(&m, 4, 8);
	struct wtrack_run runs[4];

	watch_pages(t, &m, 0, 4, 0);
	watch_pages(t, &m, 8, 4, 0);
	store(&m, 0);
	store(&m, 8);
	assert_int_equal(wtrack_collect(t, &at, runs, 4, BOTH), 0);
	at = part(&m, 12, 0);
	assert_int_equal(wtrack_collect(t, &at, runs, 4, BOTH), 0);
	/* Nothing to do, and nothing done. */
	at = part(&m, 8, 8);
	assert_int_equal(wtrack_collect(t, &at, runs, 4, BOTH), 0);
	at = part(&m, 9, 8);
	assert_int_equal(wtrack_collect(t, &at, runs, 4, BOTH), 0);
	expect_pages(t, &m, BOTH, 0, 8);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Parts of an initial range, cleared in order and not. */
static void initial_pages_are_cleared_in_parts(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 16, true);
	static const size_t bounds[][2] = {
		{ 0, 4 }, { 8, 12 }, { 4, 8 }, { 12, 16 }
	};
	struct wtrack_run runs[4];
	struct view v;

	watch_pages(t, &m, 0, 16, WTRACK_WATCH_DIRTY);
	for (size_t i = 0; i < 4; i++) {
		struct wtrack_cursor at = part(&m, bounds[i][0], bounds[i][1]);

		assert_int_equal(wtrack_collect(t, &at, runs, 4, BOTH), 1);
		assert_int_equal(runs[0].flags, WTRACK_RUN_INITIAL);
		assert_ptr_equal((void *)runs[0].start,
				 page_of(&m, bounds[i][0]));
		assert_ptr_equal((void *)runs[0].end,
				 page_of(&m, bounds[i][1]));
	}
	/* What was cleared out of order may be initial once more, not for ever.
	 */
	view_collect(&v, t, &m, 16, BOTH);
	for (size_t i = 0; i < 16; i++)
		assert_true(!is_precise(t) || !v.flags[i] ||
			    v.flags[i] == WTRACK_RUN_INITIAL);
	expect_none(t, &m);
	store(&m, 9);
	expect_pages(t, &m, BOTH, 9);
	wtrack_close(t);
	mem_unmap(&m);
}

static void a_bad_cursor_is_refused(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 4, true);
	struct wtrack_run runs[4];
	struct wtrack_cursor at;

	watch_pages(t, &m, 0, 4, WTRACK_WATCH_DIRTY);
	for (int i = 0; i < 5; i++) {
		at = part(&m, 0, 4);
		at.next += i == 0;
		at.end -= i == 1;
		at.reserved = i == 2;
		at.share = i == 3 ? (UINT64_C(1) << 32) + 1 : 0;
		at.share = i == 4 ? UINT64_MAX : at.share;
		assert_int_equal(wtrack_collect(t, &at, runs, 4, BOTH),
				 -EINVAL);
	}
	expect_pages(t, &m, BOTH, 0, 1, 2, 3);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Writers that go on: what they write is in this answer or in the next. */
struct stamps {
	struct mem m;
	uint64_t written[64]; /* atomic: stores to each page */
};

static void stamp(struct teammate *self)
{
	struct stamps *s = self->team->context;
	size_t page = roll(&self->dice, s->m.pages);

	__atomic_fetch_add(&s->written[page], 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add((uint64_t *)(void *)page_of(&s->m, page), 1,
			   __ATOMIC_SEQ_CST);
}

/* Copies what is reported, in answers of a few runs; the last time alone. */
static void copy_reported(struct wtrack *t, const struct mem *m,
			  uint64_t *image, size_t nruns)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[8];
	ssize_t n;

	do {
		n = wtrack_collect(t, &at, runs, nruns, BOTH);
		assert_in_range(n, 0, nruns);
		for (ssize_t i = 0; i < n; i++)
			for (char *p = (char *)runs[i].start;
			     p < (char *)runs[i].end; p += m->page)
				image[(size_t)(p - m->base) / m->page] =
					__atomic_load_n((uint64_t *)(void *)p,
							__ATOMIC_SEQ_CST);
	} while ((size_t)n == nruns);
}

/* [G1] [G6] */
static void truncation_loses_nothing_while_others_write(void **state)
{
	struct stamps s = { mem_map(MEM_ANON, 64, false), { 0 } };
	struct wtrack *t = open_on(*state);
	uint64_t image[64] = { 0 };
	struct team team;

	watch_pages(t, &s.m, 0, 64, 0);
	team_init(&team, &s);
	for (int i = 0; i < 3; i++)
		team_add(&team, stamp);
	for (size_t i = 0; i < 3000; i++)
		copy_reported(t, &s.m, image, 1 + i % 8);
	team_end(&team);
	copy_reported(t, &s.m, image, 8);
	assert_memory_equal(image, s.written, sizeof(image));
	wtrack_close(t);
	mem_unmap(&s.m);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(short_arrays_lose_nothing),
		CASE_NEEDS(what_did_not_fit_keeps_its_state,
			   WTRACK_CAP_PRECISE),
		CASE_NEEDS(an_array_that_just_fits_ends_at_the_next_call,
			   WTRACK_CAP_PRECISE),
		CASE_EACH(a_part_is_collected_alone),
		CASE_NEEDS(a_part_without_watched_memory_is_empty,
			   WTRACK_CAP_PRECISE),
		CASE_EACH(initial_pages_are_cleared_in_parts),
		CASE_EACH(a_bad_cursor_is_refused),
		CASE_EACH(truncation_loses_nothing_while_others_write),
	};

	return RUN_CASES("cursor", cases);
}
