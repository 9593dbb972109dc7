/* SPDX-License-Identifier: MIT */
/*
 * case_race.c: no store is lost while pages are scanned and armed, also when
 * another thread has changed entries but not yet flushed what processors
 * remember of them.
 */
#include "race.h"
#include "scene.h"

#include <stdlib.h>
#include <sys/mman.h>

#define EPOCHS 15

static void race_in(enum kind kind,
		    void (*disturb)(const struct race *, struct dice *))
{
	size_t size = 4 * HUGE;
	char *start = map(kind, size);
	struct race race = { start, size / PAGE, 700, disturb, EPOCHS };

	for (size_t i = 0; i < size; i += PAGE)
		store(start + i, 1);
	run_race(&race);
}

static void scene(size_t room)
{
	struct scene s = make_scene();
	struct race race = { s.start, s.pages, room, NULL, EPOCHS };

	run_race(&race);
}

static void many_mappings(void)
{
	scene(2000);
}

static void full_vectors(void)
{
	scene(40);
}

static char *some_of(const struct race *race, struct dice *dice, size_t *size)
{
	size_t from = roll(dice, race->pages - 1);
	size_t n = 1 + roll(dice, race->pages - from);

	*size = n * PAGE;
	return race->start + from * PAGE;
}

static void flip(const struct race *race, struct dice *dice)
{
	size_t size;
	char *start = some_of(race, dice, &size);

	check(mprotect(start, size, PROT_READ) == 0 &&
		      mprotect(start, size, PROT_READ | PROT_WRITE) == 0,
	      "mprotect");
}

static void discard(const struct race *race, struct dice *dice)
{
	size_t size;
	char *start = some_of(race, dice, &size);

	check(madvise(start, size, MADV_DONTNEED) == 0, "madvise");
}

static void lazy_free(const struct race *race, struct dice *dice)
{
	size_t size;
	char *start = some_of(race, dice, &size);

	check(madvise(start, size, MADV_FREE) == 0, "madvise");
	/* So that some of it is taken away. */
	madvise(start, size < HUGE ? size : HUGE, ADVICE_PAGEOUT);
}

/* Few at once: it takes long, and what counts is that they are written. */
static void page_out(const struct race *race, struct dice *dice)
{
	size_t size;
	char *start = some_of(race, dice, &size);

	if (size > 64 * PAGE)
		size = 64 * PAGE;
	check(madvise(start, size, ADVICE_PAGEOUT) == 0, "madvise");
}

/* Whoever un-arms makes pages read written, which loses nothing. */
static void unarm(const struct race *race, struct dice *dice)
{
	size_t size;
	char *start = some_of(race, dice, &size);

	arm(start, size, false);
}

static void collapse(const struct race *race, struct dice *dice)
{
	size_t huge = roll(dice, race->pages / HUGE_PAGES);
	char *start = race->start + huge * HUGE;

	/* Only what is all un-armed collapses. */
	arm(start, HUGE, false);
	madvise(start, HUGE, ADVICE_COLLAPSE);
}

static void beside_mprotect(void)
{
	race_in(KIND_ANON, flip);
	race_in(KIND_THP, flip);
	race_in(KIND_SHMEM, flip);
}

static void beside_discards(void)
{
	race_in(KIND_ANON, discard);
	race_in(KIND_THP, discard);
}

static void beside_lazy_free(void)
{
	need_swap();
	race_in(KIND_ANON, lazy_free);
	race_in(KIND_THP, lazy_free);
}

static void beside_page_out(void)
{
	need_swap();
	race_in(KIND_ANON, page_out);
	race_in(KIND_THP, page_out);
	race_in(KIND_SHMEM, page_out);
}

static void beside_unarming(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		race_in(kind, unarm);
}

static void beside_collapse(void)
{
	race_in(KIND_THP, collapse);
}

const struct test race_tests[] = {
	{ "race_many_mappings", many_mappings },
	{ "race_full_vectors", full_vectors },
	{ "race_beside_mprotect", beside_mprotect },
	{ "race_beside_discards", beside_discards },
	{ "race_beside_lazy_free", beside_lazy_free },
	{ "race_beside_page_out", beside_page_out },
	{ "race_beside_unarming", beside_unarming },
	{ "race_beside_collapse", beside_collapse },
	{ 0 },
};
