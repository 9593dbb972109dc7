/* SPDX-License-Identifier: MIT */
/* live_split.c: a handle cut into parts, which together are one pass. */
#include "support_live.h"

#include <string.h>
#include <sys/mman.h>

#define BOTH   (WTRACK_GET | WTRACK_CLEAR)
#define BLOCK  ((uintptr_t)wt_huge_size())
#define BLOCKS 16
#define MOST   32

/* Pages of a huge page: those of 64 KiB. */
#define BLOCK_MOST 8192

/* Address space by huge pages, of which a few pages are populated. */
struct scene {
	struct wtrack *t;
	char *base;
	size_t block;      /* pages */
	size_t from[MOST]; /* watched: pages, and how many */
	size_t n[MOST];
	size_t ranges;
};

static struct scene scene_on(const char *backend)
{
	struct scene s = { .t = open_on(backend), .block = wt_page_entries() };
	struct mem m = mem_map(MEM_THP, BLOCKS * s.block, false);

	madvise(m.base, BLOCKS * BLOCK, MADV_NOHUGEPAGE);
	s.base = m.base;
	return s;
}

static void scene_end(struct scene *s)
{
	wtrack_close(s->t);
	unmap_pages(s->base, BLOCKS * s->block);
}

static void watch(struct scene *s, size_t page, size_t n)
{
	assert_int_equal(wtrack_watch(s->t, s->base + page * page_size(),
				      n * page_size(), 0),
			 0);
	s->from[s->ranges] = page;
	s->n[s->ranges++] = n;
}

static uint64_t epoch_of(struct wtrack *t)
{
	struct wtrack_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_info(t, &info), 0);
	return info.epoch;
}

/* Watched bytes in [from, to). */
static size_t watched_in(const struct scene *s, uintptr_t from, uintptr_t to)
{
	size_t sum = 0;

	for (size_t i = 0; i < s->ranges; i++) {
		uintptr_t lo = (uintptr_t)s->base + s->from[i] * page_size();
		uintptr_t hi = lo + s->n[i] * page_size();

		lo = lo > from ? lo : from;
		hi = hi < to ? hi : to;
		sum += lo < hi ? hi - lo : 0;
	}
	return sum;
}

/* Ascending, cut at huge pages, all of it covered, and none much larger. */
static size_t check_parts(struct scene *s, const struct wtrack_cursor *part,
			  ssize_t n, size_t asked)
{
	size_t all = watched_in(s, 0, UINTPTR_MAX), sum = 0;

	assert_in_range(n, 1, asked);
	for (ssize_t i = 0; i < n; i++) {
		uintptr_t end = part[i].end ? part[i].end : UINTPTR_MAX;
		size_t bytes = watched_in(s, part[i].next, end);

		assert_true(part[i].next < end);
		assert_int_equal(part[i].reserved, 0);
		assert_true(i == 0 || part[i - 1].end <= part[i].next);
		assert_true(i == 0 || part[i].next % BLOCK == 0);
		assert_true(i == n - 1 ||
			    (part[i].end && part[i].end % BLOCK == 0));
		assert_true(bytes > 0);
		assert_true(bytes <= all / (size_t)n + 2 * BLOCK);
		sum += bytes;
	}
	assert_int_equal(sum, all);
	return (size_t)n;
}

static void parts_cover_what_is_watched(void **state)
{
	struct scene s = scene_on(*state);
	struct wtrack_cursor part[MOST];
	size_t n;

	watch(&s, 3, 5 * s.block);
	watch(&s, 6 * s.block + 1, 10);
	watch(&s, 9 * s.block, 6 * s.block);
	for (size_t asked = 1; asked <= MOST; asked++) {
		n = check_parts(&s, part, wtrack_split(s.t, NULL, part, asked),
				asked);
		if (asked <= 4)
			assert_int_equal(n, asked);
	}
	scene_end(&s);
}

/* What is smaller than a block is not cut. */
static void a_small_handle_has_few_parts(void **state)
{
	struct scene s = scene_on(*state);
	struct wtrack_cursor part[MOST];

	assert_returns(0, wtrack_split(s.t, NULL, part, MOST));
	watch(&s, 7, 100);
	assert_returns(1, wtrack_split(s.t, NULL, part, MOST));
	watch(&s, s.block - 5, 10);
	assert_in_range(check_parts(&s, part,
				    wtrack_split(s.t, NULL, part, MOST), MOST),
			1, 2);
	watch(&s, 5 * s.block, 1);
	assert_in_range(check_parts(&s, part,
				    wtrack_split(s.t, NULL, part, MOST), MOST),
			1, 3);
	scene_end(&s);
}

static void a_part_of_a_handle_is_split_alone(void **state)
{
	struct scene s = scene_on(*state);
	struct wtrack_cursor part[MOST], at = WTRACK_CURSOR_INIT, was;
	ssize_t n;

	watch(&s, 0, BLOCKS * s.block);
	at.next = (uintptr_t)s.base + 3 * BLOCK + 2 * page_size();
	at.end = (uintptr_t)s.base + 9 * BLOCK - page_size();
	was = at;
	n = wtrack_split(s.t, &at, part, 4);
	assert_memory_equal(&at, &was, sizeof(at));
	assert_in_range(n, 2, 4);
	assert_int_equal(part[0].next, at.next);
	assert_int_equal(part[n - 1].end, at.end);
	for (ssize_t i = 1; i < n; i++) {
		assert_int_equal(part[i].next, part[i - 1].end);
		assert_int_equal(part[i].next % BLOCK, 0);
	}
	/* Nothing is watched there. */
	at.next = (uintptr_t)s.base + BLOCKS * BLOCK;
	at.end = at.next + 4 * BLOCK;
	assert_returns(0, wtrack_split(s.t, &at, part, 4));
	scene_end(&s);
}

static void store_some(struct scene *s)
{
	for (size_t i = 0; i < BLOCKS * s->block; i += 61)
		touch(s->base, i);
}

/* Collects one part, in answers of a few runs; pages with a mark, each once. */
static void collect_part(struct scene *s, struct wtrack_cursor part,
			 unsigned char *seen, unsigned flags)
{
	struct wtrack_run runs[13];
	ssize_t n = 13;

	while (n == 13) {
		n = wtrack_collect(s->t, &part, runs, 13, flags);
		assert_in_range(n, 0, 13);
		for (ssize_t i = 0; i < n; i++)
			for (uintptr_t a = runs[i].start; a < runs[i].end;
			     a += page_size())
				seen[(a - (uintptr_t)s->base) / page_size()]++;
	}
}

static void expect_each_once(struct scene *s, const unsigned char *seen)
{
	for (size_t i = 0; i < BLOCKS * s->block; i++)
		if (i % 61 == 0 ||
		    (seen[i] && (caps_of(s->t) & WTRACK_CAP_PRECISE)))
			assert_true(seen[i] == 1 && i % 61 == 0);
}

/* In any order; the epoch ends with the last of them, not earlier. */
static void an_epoch_ends_with_the_last_part(void **state)
{
	static unsigned char seen[BLOCKS * BLOCK_MOST];
	struct scene s = scene_on(*state);
	struct wtrack_cursor part[MOST];

	assert_true(s.block <= BLOCK_MOST);
	watch(&s, 0, BLOCKS * s.block);
	for (size_t asked = 1; asked < 7; asked++) {
		uint64_t epoch = epoch_of(s.t);
		ssize_t n = wtrack_split(s.t, NULL, part, asked);

		store_some(&s);
		memset(seen, 0, sizeof(seen));
		assert_int_equal(n, asked);
		for (ssize_t i = n; i-- > 0;) {
			assert_int_equal(epoch_of(s.t), epoch);
			collect_part(&s, part[i], seen, BOTH);
		}
		assert_int_equal(epoch_of(s.t), epoch + 1);
		expect_each_once(&s, seen);
		if (caps_of(s.t) & WTRACK_CAP_PRECISE)
			assert_clean(s.t);
	}
	scene_end(&s);
}

/* A look is no pass, nor are parts of a part. */
static void looks_and_parts_of_a_part_end_no_epoch(void **state)
{
	static unsigned char seen[BLOCKS * BLOCK_MOST];
	struct scene s = scene_on(*state);
	struct wtrack_cursor part[MOST], at = WTRACK_CURSOR_INIT;
	ssize_t n;

	assert_true(s.block <= BLOCK_MOST);
	watch(&s, 0, BLOCKS * s.block);
	store_some(&s);
	n = wtrack_split(s.t, NULL, part, 4);
	assert_int_equal(n, 4);
	for (ssize_t i = 0; i < n; i++)
		collect_part(&s, part[i], seen, WTRACK_GET);
	assert_int_equal(epoch_of(s.t), 0);
	at.next = (uintptr_t)s.base;
	at.end = (uintptr_t)s.base + 8 * BLOCK;
	n = wtrack_split(s.t, &at, part, 4);
	assert_in_range(n, 2, 4);
	for (ssize_t i = 0; i < n; i++)
		collect_part(&s, part[i], seen, BOTH);
	assert_int_equal(epoch_of(s.t), 0);
	scene_end(&s);
}

/* Clearing alone goes by parts as well. */
static void parts_are_cleared_without_a_look(void **state)
{
	struct scene s = scene_on(*state);
	struct wtrack_cursor part[MOST];
	ssize_t n;

	watch(&s, 0, BLOCKS * s.block);
	store_some(&s);
	n = wtrack_split(s.t, NULL, part, 3);
	assert_int_equal(n, 3);
	for (ssize_t i = 0; i < n; i++)
		assert_returns(0, wtrack_collect(s.t, &part[i], NULL, 0,
						 WTRACK_CLEAR));
	assert_int_equal(epoch_of(s.t), 1);
	if (caps_of(s.t) & WTRACK_CAP_PRECISE)
		assert_clean(s.t);
	scene_end(&s);
}

static void bad_arguments_are_refused(void **state)
{
	struct scene s = scene_on(*state);
	const uintptr_t p = (uintptr_t)s.base;
	const struct wtrack_cursor bad[] = {
		{ p + 1, 0, 0, 0 }, { p, p + page_size() - 1, 0, 0 },
		{ 0, 0, 0, 1 },     { 0, 0, UINT64_MAX, 0 },
		{ 0, 0, 1, 0 },
	};
	struct wtrack_cursor part[MOST];

	watch(&s, 0, BLOCKS * s.block);
	assert_returns(-EINVAL, wtrack_split(NULL, NULL, part, MOST));
	assert_returns(-EINVAL, wtrack_split(s.t, NULL, NULL, MOST));
	assert_returns(-EINVAL, wtrack_split(s.t, NULL, part, 0));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_returns(-EINVAL, wtrack_split(s.t, &bad[i], part, MOST));
	scene_end(&s);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(parts_cover_what_is_watched),
		CASE_EACH(a_small_handle_has_few_parts),
		CASE_EACH(a_part_of_a_handle_is_split_alone),
		CASE_EACH(an_epoch_ends_with_the_last_part),
		CASE_EACH(looks_and_parts_of_a_part_end_no_epoch),
		CASE_EACH(parts_are_cleared_without_a_look),
		CASE_EACH(bad_arguments_are_refused),
	};

	return RUN_CASES("split", cases);
}
