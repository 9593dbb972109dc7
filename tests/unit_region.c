/* SPDX-License-Identifier: MIT */
/* unit_region.c: the table of ranges against a naive shadow. */
#include "support.h"

#include "region.h"

#include <string.h>

/* ---- a shadow: for each unit of a small space, the range it is in ---- */

#define UNITS 3000
#define BASE  ((uintptr_t)0x10000000)
#define UNIT  ((uintptr_t)0x1000)

struct shadow {
	uint64_t attr[UNITS]; /* 0: not in the table */
	uint32_t id[UNITS];   /* of the insertion: units of one are one range */
};

static struct shadow shadow;
static uint64_t account;
static uint32_t seed;

static uint32_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

static uintptr_t addr_of(size_t unit)
{
	return BASE + unit * UNIT;
}

static size_t unit_of(uintptr_t addr)
{
	return (addr - BASE) / UNIT;
}

static bool shadow_free(size_t lo, size_t hi)
{
	for (; lo < hi; lo++)
		if (shadow.attr[lo])
			return false;
	return true;
}

static bool shadow_full(size_t lo, size_t hi)
{
	for (; lo < hi; lo++)
		if (!shadow.attr[lo])
			return false;
	return true;
}

/* Where the range that holds `unit` ends. */
static size_t shadow_end(size_t unit)
{
	uint32_t id = shadow.id[unit];

	while (unit < UNITS && shadow.attr[unit] && shadow.id[unit] == id)
		unit++;
	return unit;
}

static void insert(struct wt_table *t, size_t lo, size_t hi)
{
	static uint32_t id;
	struct wt_range r = { addr_of(lo), addr_of(hi), 1 + next_random() % 3,
			      NULL };

	assert_int_equal(wt_table_reserve(t, 1), 0);
	wt_table_insert(t, &r, r.start);
	id++;
	for (; lo < hi; lo++) {
		shadow.attr[lo] = r.attr;
		shadow.id[lo] = id;
	}
}

static void remove_range(struct wt_table *t, size_t lo, size_t hi)
{
	size_t after = hi < UNITS ? hi : UNITS;
	static uint32_t id = 1u << 30;

	assert_int_equal(wt_table_reserve(t, 0), 0);
	wt_table_remove(t, addr_of(lo), addr_of(hi));
	/* The part above the cut is a range of its own. */
	if (after < UNITS && lo && shadow.attr[after] &&
	    shadow.id[lo] == shadow.id[after])
		for (size_t end = shadow_end(after); after < end; after++)
			shadow.id[after] = id;
	id++;
	for (; lo < hi; lo++)
		shadow.attr[lo] = 0;
}

/* The part of one range that lies in [lo, hi) gets other attributes. */
static void replace(struct wt_table *t, size_t lo, size_t hi)
{
	static uint32_t id = 1u << 31;
	size_t end = shadow_end(lo);
	struct wt_range r = { addr_of(lo), 0, 4 + next_random() % 3, NULL };

	hi = hi < end ? hi : end;
	r.end = addr_of(hi);
	assert_int_equal(wt_table_reserve(t, 2), 0);
	wt_table_replace(t, &r, r.start);
	/* The part above is a range of its own. */
	for (size_t i = hi; i < end; i++)
		shadow.id[i] = id;
	id++;
	for (; lo < hi; lo++) {
		shadow.attr[lo] = r.attr;
		shadow.id[lo] = id;
	}
	id++;
}

/* The whole table, by peeking from end to end. */
static void assert_same(const struct wt_table *t)
{
	struct wt_range r[WT_LEAF_RANGES];
	uintptr_t at = 0;
	uint64_t ranges = 0, bytes = 0;
	size_t n, unit = 0;

	while ((n = wt_table_peek(t, at, r))) {
		assert_true(n <= WT_LEAF_RANGES);
		for (size_t i = 0; i < n; i++) {
			size_t lo = unit_of(r[i].start);

			assert_true(r[i].start >= at);
			assert_true(shadow_free(unit, lo));
			assert_int_equal(r[i].attr, shadow.attr[lo]);
			assert_int_equal(unit_of(r[i].end), shadow_end(lo));
			assert_non_null(r[i].fresh);
			ranges++;
			bytes += r[i].end - r[i].start;
			at = r[i].end;
			unit = unit_of(at);
		}
	}
	assert_true(shadow_free(unit, UNITS));
	assert_int_equal(t->ranges, ranges);
	assert_int_equal(t->bytes, bytes);
}

static void assert_finds(const struct wt_table *t, size_t unit)
{
	uintptr_t addr = addr_of(unit) + next_random() % UNIT;
	struct wt_range r;
	bool found = wt_table_find(t, addr, &r);

	assert_int_equal(found, shadow.attr[unit] != 0);
	if (!found)
		return;
	assert_true(r.start <= addr && addr < r.end);
	assert_int_equal(r.attr, shadow.attr[unit]);
	assert_int_equal(unit_of(r.end), shadow_end(unit));
}

static void step(struct wt_table *t, unsigned longest)
{
	size_t lo = next_random() % UNITS, hi;

	hi = lo + 1 + next_random() % longest;
	hi = hi < UNITS ? hi : UNITS;
	assert_int_equal(wt_table_covers(t, addr_of(lo), addr_of(hi)),
			 shadow_full(lo, hi));
	assert_int_equal(wt_table_overlaps(t, addr_of(lo), addr_of(hi)),
			 !shadow_free(lo, hi));
	if (shadow_free(lo, hi))
		insert(t, lo, hi);
	else if (shadow.attr[lo] && next_random() % 3 == 0)
		replace(t, lo, hi);
	else if (shadow_full(lo, hi))
		remove_range(t, lo, hi);
	assert_finds(t, next_random() % UNITS);
	assert_finds(t, lo);
	assert_finds(t, hi - 1);
}

static void play(unsigned longest, int steps)
{
	struct wt_table t;

	memset(&shadow, 0, sizeof(shadow));
	assert_int_equal(wt_table_init(&t, &account), 0);
	for (int i = 0; i < steps; i++) {
		step(&t, longest);
		if (i % 64 == 0)
			assert_same(&t);
	}
	assert_same(&t);
	wt_table_destroy(&t);
	assert_int_equal(account, 0);
}

static void random_changes_agree_with_the_shadow(void **state)
{
	(void)state;
	for (uint32_t round = 1; round <= 10; round++) {
		seed = round;
		play(2, 6000);  /* thousands of ranges, many leaves */
		play(40, 3000); /* cuts in the middle, whole leaves gone */
	}
}

/* ---- what has to be said about single cases ---- */

static struct wt_table small_table(size_t ranges)
{
	struct wt_table t;

	memset(&shadow, 0, sizeof(shadow));
	seed = 7;
	assert_int_equal(wt_table_init(&t, &account), 0);
	for (size_t i = 0; i < ranges; i++)
		insert(&t, 2 * i, 2 * i + 1);
	return t;
}

static void an_empty_table_contains_nothing(void **state)
{
	struct wt_table t = small_table(0);
	struct wt_range r[WT_LEAF_RANGES];

	(void)state;
	assert_int_equal(wt_table_peek(&t, 0, r), 0);
	assert_false(wt_table_find(&t, BASE, r));
	assert_false(wt_table_covers(&t, BASE, BASE + 1));
	assert_false(wt_table_overlaps(&t, 0, UINTPTR_MAX));
	wt_table_destroy(&t);
}

static void a_removal_over_many_leaves_takes_all_of_them(void **state)
{
	struct wt_table t = small_table(1000);

	(void)state;
	wt_table_reserve(&t, 0);
	wt_table_remove(&t, addr_of(0), addr_of(1));
	shadow.attr[0] = 0;
	assert_same(&t);
	/* All are apart, so one at a time, and the neighbours stay. */
	for (size_t i = 1; i < 999; i++)
		remove_range(&t, 2 * i, 2 * i + 1);
	assert_same(&t);
	assert_int_equal(t.ranges, 1);
	wt_table_destroy(&t);
}

static void adjacent_ranges_are_removed_in_one_go(void **state)
{
	struct wt_table t = small_table(0);

	(void)state;
	for (size_t i = 0; i < 500; i++)
		insert(&t, i, i + 1);
	assert_int_equal(t.ranges, 500);
	remove_range(&t, 3, 490);
	assert_same(&t);
	assert_int_equal(t.ranges, 13);
	wt_table_destroy(&t);
}

static void the_parts_of_a_cut_range_keep_where_it_is_initial(void **state)
{
	struct wt_table t = small_table(0);
	struct wt_range r;

	(void)state;
	insert(&t, 0, 100); /* initial from its start on */
	assert_true(wt_table_find(&t, addr_of(0), &r));
	*r.fresh = addr_of(10);
	remove_range(&t, 40, 60);
	assert_true(wt_table_find(&t, addr_of(0), &r));
	assert_int_equal(*r.fresh, addr_of(10));
	assert_true(wt_table_find(&t, addr_of(60), &r));
	assert_int_equal(*r.fresh, addr_of(60));
	remove_range(&t, 60, 70);
	assert_true(wt_table_find(&t, addr_of(70), &r));
	assert_true(*r.fresh <= addr_of(70));
	wt_table_destroy(&t);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(random_changes_agree_with_the_shadow),
		CASE(an_empty_table_contains_nothing),
		CASE(a_removal_over_many_leaves_takes_all_of_them),
		CASE(adjacent_ranges_are_removed_in_one_go),
		CASE(the_parts_of_a_cut_range_keep_where_it_is_initial),
	};

	return RUN_CASES("region", cases);
}
