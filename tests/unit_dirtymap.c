/* SPDX-License-Identifier: MIT */
/* unit_dirtymap.c: the atomic bitmap against an array of bools, and races. */
#include "support.h"

#include "dirtymap.h"
#include "sparse.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

/* Pages on both sides of the border of two chunks (1 GiB for small pages). */
#define N 20000
static uintptr_t base;
static bool shadow[N];
static uint32_t seed;

static uint32_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

static uintptr_t addr_of(size_t i)
{
	return base + i * page_size();
}

static void start_clean(void)
{
	uintptr_t border = ((uintptr_t)1 << 44) + (page_size() << 18);

	base = border - N / 2 * page_size() - 5 * page_size();
	assert_int_equal(wt_dirty_reserve(addr_of(0), addr_of(N)), 0);
	wt_dirty_clear(addr_of(0), addr_of(N));
	memset(shadow, 0, sizeof(shadow));
	seed = 3;
}

static void set(size_t lo, size_t hi)
{
	wt_dirty_set(addr_of(lo), addr_of(hi));
	memset(shadow + lo, 1, hi - lo);
}

static void clear(size_t lo, size_t hi)
{
	wt_dirty_clear(addr_of(lo), addr_of(hi));
	memset(shadow + lo, 0, hi - lo);
}

static size_t end_of_equal(size_t i, size_t hi)
{
	bool value = shadow[i];

	while (i < hi && shadow[i] == value)
		i++;
	return i;
}

/* All runs of [lo, hi), as the map tells them. */
static void assert_runs(size_t lo, size_t hi)
{
	uintptr_t start, end, at = addr_of(lo);
	size_t i = lo;

	while (i < hi) {
		if (!shadow[i]) {
			i = end_of_equal(i, hi);
			continue;
		}
		assert_true(wt_dirty_next(at, addr_of(hi), &start, &end));
		assert_int_equal(start, addr_of(i));
		i = end_of_equal(i, hi);
		assert_int_equal(end, addr_of(i));
		at = end;
	}
	assert_false(wt_dirty_next(at, addr_of(hi), &start, &end));
}

static void assert_ends(size_t lo, size_t hi)
{
	size_t end = shadow[lo] ? end_of_equal(lo, hi) : lo, before = hi;

	assert_int_equal(wt_dirty_test(addr_of(lo)), shadow[lo]);
	assert_int_equal(wt_dirty_end(addr_of(lo), addr_of(hi)), addr_of(end));
	while (before > lo && !shadow[before - 1])
		before--;
	assert_int_equal(wt_dirty_before(addr_of(lo), addr_of(hi)),
			 addr_of(before));
}

static void random_changes_agree_with_the_shadow(void **state)
{
	(void)state;
	start_clean();
	for (int i = 0; i < 30000; i++) {
		size_t lo = next_random() % (N - 1);
		size_t most = next_random() % 4 ? 100 : 9000;
		size_t hi = lo + 1 + next_random() % most;

		hi = hi < N ? hi : N;
		if (next_random() % 2)
			set(lo, hi);
		else
			clear(lo, hi);
		assert_ends(next_random() % 2 ? lo : lo / 2, hi);
		if (i % 100 == 0)
			assert_runs(0, N);
		if (i % 10 == 0)
			assert_runs(lo, hi);
	}
	assert_runs(0, N);
}

static void single_pages_around_every_border_are_exact(void **state)
{
	(void)state;
	start_clean();
	for (size_t i = 0; i < N; i++) {
		set(i, i + 1);
		assert_true(wt_dirty_test(addr_of(i)));
		assert_runs(i ? i - 1 : 0, i + 2 < N ? i + 2 : N);
		if (i % 3)
			clear(i, i + 1);
	}
	assert_runs(0, N);
}

static void reserving_twice_maps_nothing_more(void **state)
{
	uint64_t bytes;

	(void)state;
	start_clean();
	bytes = wt_dirty_bytes();
	assert_true(bytes > 0);
	set(1, 2);
	assert_int_equal(wt_dirty_reserve(addr_of(0), addr_of(N)), 0);
	assert_int_equal(wt_dirty_bytes(), bytes);
	assert_true(wt_dirty_test(addr_of(1)));
}

static void addresses_beyond_all_spaces_are_refused(void **state)
{
	/* Behind what its directory has chunks for. */
	uintptr_t beyond = page_size() << (WT_SPARSE_SHIFT + WT_SPARSE_LOW +
					   WT_SPARSE_HIGH);

	(void)state;
	assert_true(wt_dirty_reserve(beyond, beyond + page_size()) < 0);
	assert_false(wt_dirty_test(beyond));
}

static bool degraded(size_t lo, size_t hi)
{
	return wt_dirty_degraded(addr_of(lo), addr_of(hi));
}

/* The first page of 64 that are told about together. */
static size_t first_of_word(size_t i)
{
	while ((addr_of(i) / page_size()) % 64)
		i++;
	return i;
}

static void degraded_is_told_for_64_pages_until_they_are_clean(void **state)
{
	size_t word;

	(void)state;
	start_clean();
	word = first_of_word(200);
	set(word + 3, word + 5);
	wt_dirty_set_degraded(addr_of(word + 3), addr_of(word + 4));
	assert_true(degraded(word + 3, word + 4));
	assert_true(degraded(0, N));
	assert_false(degraded(0, word));
	assert_false(degraded(word + 64, N));
	clear(word + 3, word + 4);
	assert_true(degraded(word + 4, word + 5));
	clear(word + 4, word + 5);
	assert_false(degraded(0, N));
}

static void degraded_is_forgotten_with_a_clearing_of_all(void **state)
{
	(void)state;
	start_clean();
	set(0, N);
	wt_dirty_set_degraded(addr_of(0), addr_of(N));
	assert_true(degraded(0, 1));
	assert_true(degraded(N - 1, N));
	clear(0, N);
	assert_false(degraded(0, N));
}

/* ---- two sides at once ---- */

/*
 * In each round one side sets a word's 64 pages while the other clears them.
 * Whatever comes of it, a page that is dirty must be found: no summary bit may
 * hide it.
 */
#define ROUNDS 60000
static int setter_round, clearer_round;

static void meet(int *mine, const int *other, int round)
{
	__atomic_store_n(mine, round, __ATOMIC_SEQ_CST);
	for (int i = 0; __atomic_load_n(other, __ATOMIC_SEQ_CST) < round; i++)
		if (i > 1000)
			sched_yield();
}

static void *set_words(void *arg)
{
	size_t word = *(size_t *)arg;

	for (int round = 1; round <= ROUNDS; round++) {
		meet(&setter_round, &clearer_round, 2 * round);
		wt_dirty_set(addr_of(word + (size_t)round % 64),
			     addr_of(word + 64));
		meet(&setter_round, &clearer_round, 2 * round + 1);
	}
	return NULL;
}

static bool is_found(size_t word)
{
	uintptr_t start, end;

	for (size_t i = word; i < word + 64; i++)
		if (wt_dirty_test(addr_of(i)))
			return wt_dirty_next(addr_of(word), addr_of(word + 64),
					     &start, &end) &&
			       start == addr_of(i);
	return true;
}

/* [G1] */
static void a_bit_that_is_set_beside_a_clearing_is_never_hidden(void **state)
{
	pthread_t setter;
	bool found = true;
	size_t word;

	(void)state;
	start_clean();
	word = first_of_word(100);
	setter_round = clearer_round = 0;
	pthread_create(&setter, NULL, set_words, &word);
	for (int round = 1; round <= ROUNDS; round++) {
		meet(&clearer_round, &setter_round, 2 * round);
		wt_dirty_clear(addr_of(word), addr_of(word + 64));
		meet(&clearer_round, &setter_round, 2 * round + 1);
		found = found && is_found(word);
	}
	pthread_join(setter, NULL);
	assert_true(found);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(random_changes_agree_with_the_shadow),
		CASE(single_pages_around_every_border_are_exact),
		CASE(reserving_twice_maps_nothing_more),
		CASE(addresses_beyond_all_spaces_are_refused),
		CASE(degraded_is_told_for_64_pages_until_they_are_clean),
		CASE(degraded_is_forgotten_with_a_clearing_of_all),
		CASE(a_bit_that_is_set_beside_a_clearing_is_never_hidden),
	};

	return RUN_CASES("dirtymap", cases);
}
