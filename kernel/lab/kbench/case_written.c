/* SPDX-License-Identifier: MIT */
/*
 * case_written.c: writers of armed memory, and what a scan reports afterwards,
 * with the two settings that trade exactness for fewer faults.
 *
 * k7.*: memory of huge pages, one store to each; vm.uffd_wp_async_huge has the
 * huge page read as written whole, and not be split.  k8.*: small pages, stores
 * one after the other or far apart; vm.uffd_wp_async_around has a fault release
 * neighbours.  UNITS of a *.collect case are the pages that the scan reported.
 */
#include "kbench.h"

#include <stdio.h>

enum {
	STORE,
	COLLECT
};

/* So far apart that a few neighbours are not stored to, either. */
#define APART 64

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

static const char *set_up_small(struct trial *t)
{
	map_pages(t);
	return track(t);
}

static void store(const struct trial *t)
{
	write_every(t, t->kcase->every * PAGE);
}

/* Huge pages that were split cannot be had back but by new ones. */
static void prepare_huge(struct trial *t)
{
	if (t->iteration > 0 && map_huge_pages(t) != NULL)
		die("no more huge pages");
	if (t->iteration > 0)
		track_again(t);
	arm(t, true);
	t->units = t->bytes / HUGE_PAGE;
	if (t->kcase->way == COLLECT)
		store(t);
}

static void prepare_small(struct trial *t)
{
	arm(t, true);
	t->units = t->bytes / PAGE / t->kcase->every;
	if (t->kcase->way == COLLECT)
		store(t);
}

static void run(struct trial *t)
{
	if (t->kcase->way == COLLECT)
		t->found = scan_get_arm(t);
	else
		store(t);
}

/* Every page that was stored to is reported, and each may stand for some. */
static void expect(struct trial *t, size_t each)
{
	size_t written = t->bytes / PAGE / t->kcase->every;
	size_t found = t->found;

	if (t->kcase->way == STORE)
		found = scan_get(t);
	found = pages_in(t, found);
	if (found < written || found > written * each)
		die("a scan reported %zu pages of %zu written", found, written);
	if (t->kcase->way == STORE)
		return;
	t->units = found;
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
	unsigned around = setting(SETTING_AROUND), every = t->kcase->every;

	if (around > every)
		around = every;
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

#define STORES(name, steps, bytes, every_, n)                            \
	{ ROW(name, steps, bytes), .way = STORE, .every = every_,        \
	  .iterations = n },                                             \
	{                                                                \
		ROW(name ".collect", steps, bytes),                      \
			.way = COLLECT, .every = every_, .iterations = n \
	}

static const struct kcase cases[] = {
	STORES("k7.store", huge, GIB, HUGE_PAGE / PAGE, 3),
	STORES("k8.sequential", small, 64 * MIB, 1, 0),
	STORES("k8.apart", small, 64 * MIB, APART, 0),
};

const struct family family_written = FAMILY(cases);
