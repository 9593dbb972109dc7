/* SPDX-License-Identifier: MIT */
/*
 * case_arm.c: arming small pages and releasing them, by UFFDIO_WRITEPROTECT,
 * once and again; and arming memory that is empty, which a scan does, too.
 *
 * Empty memory has never had a page table (fresh), or has one without pages
 * (discarded).
 */
#include "kbench.h"

enum {
	ARM,
	ARM_AGAIN,
	RELEASE,
	RELEASE_AGAIN,
	ARM_EMPTY,
	SCAN_EMPTY
};

static const char *set_up_pages(struct trial *t)
{
	map_pages(t);
	return track(t);
}

static const char *set_up_empty(struct trial *t)
{
	map_afresh(t);
	return track(t);
}

static void prepare(struct trial *t)
{
	int way = t->kcase->way;

	t->units = t->bytes / PAGE;
	arm(t, way == ARM_AGAIN || way == RELEASE);
}

static void prepare_fresh(struct trial *t)
{
	t->units = t->bytes / PAGE;
	map_afresh(t);
	track_again(t);
}

static void prepare_discarded(struct trial *t)
{
	t->units = t->bytes / PAGE;
	arm(t, false);
	write_every(t, PAGE);
	discard(t);
}

static void run(struct trial *t)
{
	switch (t->kcase->way) {
	case ARM:
	case ARM_AGAIN:
	case ARM_EMPTY:
		arm(t, true);
		break;
	case SCAN_EMPTY:
		t->found = scan_get_arm(t);
		break;
	default:
		arm(t, false);
	}
}

static void check(struct trial *t)
{
	int way = t->kcase->way;
	bool released = way == RELEASE || way == RELEASE_AGAIN;

	/* Empty memory reads as written until it is armed; an older 6.12 did
	 * not say so where there was no page table. */
	if (way == SCAN_EMPTY && pages_in(t, t->found) != t->units)
		die("a scan reported %zu pages of empty memory, not %zu",
		    pages_in(t, t->found), t->units);
	expect_written(t, released ? t->units : 0);
}

static const struct steps arm_steps = {
	.set_up = set_up_pages,
	.prepare = prepare,
	.run = run,
	.check = check,
	.tear_down = untrack,
};

static const struct steps fresh_steps = {
	.set_up = set_up_empty,
	.prepare = prepare_fresh,
	.run = run,
	.check = check,
	.tear_down = untrack,
};

static const struct steps discarded_steps = {
	.set_up = set_up_empty,
	.prepare = prepare_discarded,
	.run = run,
	.check = check,
	.tear_down = untrack,
};

static const struct kcase cases[] = {
	{ ROW("uffd.arm", arm, 64 * MIB), .way = ARM },
	{ ROW("uffd.arm.again", arm, 64 * MIB), .way = ARM_AGAIN },
	{ ROW("uffd.release", arm, 64 * MIB), .way = RELEASE },
	{ ROW("uffd.release.again", arm, 64 * MIB), .way = RELEASE_AGAIN },
	{ ROW("empty.arm.fresh", fresh, 64 * MIB), .way = ARM_EMPTY },
	{ ROW("empty.getwp.fresh", fresh, 64 * MIB), .way = SCAN_EMPTY },
	{ ROW("empty.arm.discarded", discarded, 64 * MIB), .way = ARM_EMPTY },
	{ ROW("empty.getwp.discarded", discarded, 64 * MIB),
	  .way = SCAN_EMPTY },
};

const struct family family_arm = FAMILY(cases);
