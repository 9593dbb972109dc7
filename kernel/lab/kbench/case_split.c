/* SPDX-License-Identifier: MIT */
/*
 * case_split.c: memory whose huge pages were split once, by a store to one page
 * of each while they were armed: entries of small pages, but for memory that is
 * in one piece.  arm64 folds such entries, 16 at a time.
 *
 * Where it says 1/1, all pages were written; with 1/512 one page of each huge
 * page, the same each time.
 */
#include "kbench.h"

enum {
	ARM,
	RELEASE,
	GET,
	GET_ARM
};

static void store_one_each(const struct trial *t)
{
	write_every(t, HUGE_PAGE);
}

/* As a tracker has it after its first collection. */
static const char *set_up(struct trial *t)
{
	const char *why = map_huge_pages(t);

	if (!why)
		why = track(t);
	if (why)
		return why;
	arm(t, true);
	store_one_each(t);
	scan_get_arm(t);
	if (huge_bytes() != 0)
		return "a store to one page leaves huge pages whole here";
	return NULL;
}

static size_t written_pages(const struct trial *t)
{
	unsigned every = t->kcase->every;

	return every == 0 ? 0 : t->bytes / PAGE / every;
}

static void prepare(struct trial *t)
{
	t->units = t->bytes / PAGE;
	arm(t, t->kcase->every != 1);
	if (t->kcase->every > 1)
		store_one_each(t);
}

static void run(struct trial *t)
{
	switch (t->kcase->way) {
	case ARM:
		arm(t, true);
		break;
	case RELEASE:
		arm(t, false);
		break;
	case GET:
		t->found = scan_get(t);
		break;
	default:
		t->found = scan_get_arm(t);
	}
}

static void check(struct trial *t)
{
	int way = t->kcase->way;
	size_t left = way == GET ? written_pages(t) : 0;

	if ((way == GET || way == GET_ARM) &&
	    pages_in(t, t->found) != written_pages(t))
		die("a scan reported %zu pages, not %zu", pages_in(t, t->found),
		    written_pages(t));
	expect_written(t, way == RELEASE ? t->bytes / PAGE : left);
}

static const struct steps split_steps = {
	.set_up = set_up,
	.prepare = prepare,
	.run = run,
	.check = check,
	.tear_down = untrack,
};

#define SPLIT(name, way_, every_)                                             \
	{                                                                     \
		ROW("split." name, split, GIB), .way = way_, .every = every_, \
						.iterations = 2               \
	}

static const struct kcase cases[] = {
	SPLIT("get.none", GET, 0),
	SPLIT("getwp.none", GET_ARM, 0),
	SPLIT("get.1/512", GET, HUGE_PAGE / PAGE),
	SPLIT("getwp.1/512", GET_ARM, HUGE_PAGE / PAGE),
	SPLIT("getwp.1/1", GET_ARM, 1),
	SPLIT("arm", ARM, 1),
	SPLIT("release", RELEASE, 0),
};

const struct family family_split = FAMILY(cases);
