/* SPDX-License-Identifier: MIT */
/* unit_region_readers.c: reading the table of ranges while it changes. */
#include "support.h"

#include "region.h"

#include <pthread.h>
#include <string.h>

#define UNITS 3000
#define BASE  ((uintptr_t)0x10000000)
#define UNIT  ((uintptr_t)0x1000)

static uint64_t account;

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static uintptr_t addr_of(size_t unit)
{
	return BASE + unit * UNIT;
}

/*
 * The table holds every unit divisible by 4 all the time, while the rest comes
 * and goes.  A reader that ever misses a fixed one, or sees a range that never
 * was, has read a half-made version.
 */
struct race {
	struct wt_table t;
	int stop;
	int wrong;
};

static bool plausible(const struct wt_range *r)
{
	return r->start >= BASE && r->end > r->start &&
	       r->end - r->start == UNIT &&
	       r->attr == 100 + (r->start - BASE) / UNIT && r->fresh;
}

static bool reads_well(const struct wt_table *t, uint32_t *seed)
{
	struct wt_range r[WT_LEAF_RANGES];
	size_t unit = 4 * (size_t)(next_random(seed) % (UNITS / 4)), n;
	bool ok;

	ok = wt_table_find(t, addr_of(unit), r) && plausible(r) &&
	     r->start == addr_of(unit);
	n = wt_table_peek(t, addr_of(unit), r);
	ok = ok && n && r[0].start == addr_of(unit);
	for (size_t i = 0; i < n; i++)
		ok = ok && plausible(&r[i]) &&
		     (!i || r[i - 1].end <= r[i].start);
	return ok;
}

static void *read_on(void *arg)
{
	struct race *race = arg;
	uint32_t seed = 5;

	while (!__atomic_load_n(&race->stop, __ATOMIC_RELAXED))
		if (!reads_well(&race->t, &seed))
			__atomic_store_n(&race->wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void insert_unit(struct race *race, size_t unit)
{
	struct wt_range r = { addr_of(unit), addr_of(unit + 1), 100 + unit,
			      NULL };

	assert_int_equal(wt_table_reserve(&race->t, 1), 0);
	wt_table_insert(&race->t, &r, WT_NOT_FRESH);
}

static void come_and_go(struct race *race)
{
	static bool there[UNITS];
	uint32_t seed = 11;

	memset(there, 0, sizeof(there));
	for (int i = 0; i < rounds(400000); i++) {
		size_t unit = next_random(&seed) % UNITS;

		if (unit % 4 == 0)
			continue;
		if (there[unit]) {
			assert_int_equal(wt_table_reserve(&race->t, 0), 0);
			wt_table_remove(&race->t, addr_of(unit),
					addr_of(unit + 1));
		} else {
			insert_unit(race, unit);
		}
		there[unit] = !there[unit];
	}
}

/* [G4] */
static void readers_never_see_a_half_made_version(void **state)
{
	struct race race;
	pthread_t reader[2];

	(void)state;
	memset(&race, 0, sizeof(race));
	assert_int_equal(wt_table_init(&race.t, &account), 0);
	for (size_t unit = 0; unit < UNITS; unit += 4)
		insert_unit(&race, unit);
	for (int i = 0; i < 2; i++)
		pthread_create(&reader[i], NULL, read_on, &race);
	come_and_go(&race);
	__atomic_store_n(&race.stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(reader[i], NULL);
	assert_false(race.wrong);
	wt_table_destroy(&race.t);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(readers_never_see_a_half_made_version),
	};

	return RUN_CASES("region_readers", cases);
}
