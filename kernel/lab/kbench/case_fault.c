/* SPDX-License-Identifier: MIT */
/*
 * case_fault.c: the first store to a page, which the kernel takes a fault for:
 * untracked, armed, and armed while it was empty.
 */
#include "kbench.h"

enum {
	UNTRACKED,
	POPULATED,
	EMPTY,
	READ_FIRST
};

#define STRAY_FAULTS 8

static const char *set_up_untracked(struct trial *t)
{
	map_afresh(t);
	return NULL;
}

static const char *set_up_tracked(struct trial *t)
{
	map_pages(t);
	return track(t);
}

static void read_all(const struct trial *t)
{
	for (size_t i = 0; i < t->bytes; i += PAGE)
		(void)*(volatile unsigned char *)(t->base + i);
}

static void prepare(struct trial *t)
{
	int way = t->kcase->way;

	t->units = t->bytes / PAGE;
	if (way != POPULATED)
		discard(t);
	if (way != UNTRACKED)
		arm(t, true);
	/* The zero page, armed. */
	if (way == READ_FIRST)
		read_all(t);
}

static void run(struct trial *t)
{
	write_every(t, PAGE);
}

/* Memory armed while empty takes one fault a page, or two; one fault may also
 * release neighbours.  What was stored is there, and reads as written. */
static void check(struct trial *t)
{
	uint64_t faults = t->counters.faults;

	if (faults > 2 * t->units + STRAY_FAULTS)
		die("%llu faults at %zu pages", (unsigned long long)faults,
		    t->units);
	for (size_t i = 0; i < t->bytes; i += PAGE)
		if (t->base[i] != 1)
			die("a store was lost");
	if (t->kcase->way != UNTRACKED)
		expect_written(t, t->units);
}

static const struct steps untracked_steps = {
	.set_up = set_up_untracked,
	.prepare = prepare,
	.run = run,
	.check = check,
	.tear_down = unmap_pages,
};

static const struct steps tracked_steps = {
	.set_up = set_up_tracked,
	.prepare = prepare,
	.run = run,
	.check = check,
	.tear_down = untrack,
};

static const struct kcase cases[] = {
	{ ROW("fault.untracked", untracked, 16 * MIB), .way = UNTRACKED },
	{ ROW("fault.populated", tracked, 16 * MIB), .way = POPULATED },
	{ ROW("fault.empty", tracked, 16 * MIB), .way = EMPTY },
	{ ROW("fault.zero-page", tracked, 16 * MIB), .way = READ_FIRST },
};

const struct family family_fault = FAMILY(cases);
