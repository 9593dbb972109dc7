/* SPDX-License-Identifier: MIT */
/*
 * case_written.c: writers of armed memory, and what a scan reports afterwards,
 * with the two settings that trade exactness for fewer faults.
 *
 * k7.*: memory of huge pages, one store to each; vm.uffd_wp_async_huge has the
 * huge page read as written whole, and not be split.  k8.*: small pages, stores
 * to all in turn or to some at random; vm.uffd_wp_async_around has a fault
 * release neighbours.  UNITS of a *.collect case are the pages that the scan
 * reported.
 */
#include "kbench.h"

#include <stdio.h>
#include <string.h>

enum {
	STORE,
	COLLECT,
	STORE_RANDOM,
	COLLECT_RANDOM
};

#define PAGES_MAX (GIB / PAGE)

/* The pages in the order of random stores, and what a scan said of each. */
static uint32_t shuffled[PAGES_MAX];
static bool reported[PAGES_MAX];

#define SETTING_HUGE   "/proc/sys/vm/uffd_wp_async_huge"
#define SETTING_AROUND "/proc/sys/vm/uffd_wp_async_around"

/* 0 where the kernel has no such setting. */
static unsigned setting(const char *file)
{
	FILE *f = fopen(file, "re");
	unsigned value = 0;

	if (f && fscanf(f, "%u", &value) != 1)
		die("cannot read %s", file);
	if (f)
		fclose(f);
	return value;
}

static const char *set_up_huge(struct trial *t)
{
	const char *why = map_huge_pages(t);

	return why ? why : track(t);
}

static uint32_t next_random(void)
{
	static uint32_t state = 1;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static void shuffle(size_t n)
{
	for (uint32_t i = 0; i < n; i++)
		shuffled[i] = i;
	for (size_t i = n; i > 1; i--) {
		size_t j = next_random() % i;
		uint32_t moved = shuffled[j];

		shuffled[j] = shuffled[i - 1];
		shuffled[i - 1] = moved;
	}
}

static const char *set_up_small(struct trial *t)
{
	shuffle(t->bytes / PAGE);
	map_pages(t);
	return track(t);
}

static bool collects(const struct trial *t)
{
	return t->kcase->way == COLLECT || t->kcase->way == COLLECT_RANDOM;
}

static bool is_random(const struct trial *t)
{
	return t->kcase->way == STORE_RANDOM || t->kcase->way == COLLECT_RANDOM;
}

static size_t stores(const struct trial *t)
{
	return t->bytes / PAGE / t->kcase->every;
}

static size_t page_of_store(const struct trial *t, size_t i)
{
	return is_random(t) ? shuffled[i] : i * t->kcase->every;
}

static void store(const struct trial *t)
{
	for (size_t i = 0; i < stores(t); i++)
		*(volatile unsigned char *)(t->base +
					    page_of_store(t, i) * PAGE) = 1;
}

/* Huge pages that were split cannot be had back but by new ones. */
static void prepare_huge(struct trial *t)
{
	if (t->iteration > 0 && map_huge_pages(t) != NULL)
		die("no more huge pages");
	if (t->iteration > 0)
		track_again(t);
	arm(t, true);
	t->units = stores(t);
	if (collects(t))
		store(t);
}

static void prepare_small(struct trial *t)
{
	arm(t, true);
	t->units = stores(t);
	if (collects(t))
		store(t);
}

static void run(struct trial *t)
{
	if (collects(t))
		t->found = scan_get_arm(t);
	else
		store(t);
}

static void note_reported(const struct trial *t, size_t nregions)
{
	memset(reported, 0, sizeof(reported));
	for (size_t i = 0; i < nregions; i++) {
		const struct wt_page_region *r = &t->regions[i];
		size_t first = (r->start - (uintptr_t)t->base) / PAGE;

		memset(reported + first, true, (r->end - r->start) / PAGE);
	}
}

/* Every page that was stored to is reported, and each may stand for some. */
static void expect(struct trial *t, size_t each)
{
	size_t nregions = collects(t) ? t->found : scan_get(t);
	size_t pages = pages_in(t, nregions);

	note_reported(t, nregions);
	for (size_t i = 0; i < stores(t); i++)
		if (!reported[page_of_store(t, i)])
			die("a store was lost");
	if (pages > stores(t) * each)
		die("a scan reported %zu pages of %zu stored to", pages,
		    stores(t));
	if (!collects(t))
		return;
	t->units = pages;
	expect_written(t, 0);
}

static void check_huge(struct trial *t)
{
	bool whole = setting(SETTING_HUGE) != 0;

	if (huge_bytes() != (whole ? t->bytes : 0))
		die("%zu bytes are in huge pages", huge_bytes());
	expect(t, whole ? HUGE_PAGE / PAGE : 1);
}

static void check_small(struct trial *t)
{
	unsigned around = setting(SETTING_AROUND);

	expect(t, around > 1 ? around : 1);
}

static const struct steps huge_steps = {
	.set_up = set_up_huge,
	.prepare = prepare_huge,
	.run = run,
	.check = check_huge,
	.tear_down = untrack,
};

static const struct steps small_steps = {
	.set_up = set_up_small,
	.prepare = prepare_small,
	.run = run,
	.check = check_small,
	.tear_down = untrack,
};

#define STORES(name, steps, bytes, random, every_, n)                       \
	{ ROW(name, steps, bytes), .way = STORE##random, .every = every_,   \
	  .iterations = n },                                                \
	{                                                                   \
		ROW(name ".collect", steps, bytes), .way = COLLECT##random, \
						    .every = every_,        \
						    .iterations = n         \
	}

static const struct kcase cases[] = {
	STORES("k7.store", huge, GIB, , HUGE_PAGE / PAGE, 3),
	STORES("k8.sequential", small, 64 * MIB, , 1, 0),
	STORES("k8.random.1/8", small, 64 * MIB, _RANDOM, 8, 0),
	STORES("k8.random.1/64", small, 64 * MIB, _RANDOM, 64, 0),
};

const struct family family_written = FAMILY(cases);
