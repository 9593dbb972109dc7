/* SPDX-License-Identifier: MIT */
/*
 * case_protect.c: mprotect of small pages, and stores to them afterwards.
 *
 * s0.* and s2.* are the benchmarks those fast paths were made for.
 */
#include "kbench.h"

#include <sys/mman.h>

#define READ_WRITE (PROT_READ | PROT_WRITE)

/* Of the process besides: a fault that is none of the case's. */
#define STRAY_FAULTS 8

#define SMALL_REGION_CALLS 64

enum {
	REMOVE,
	GIVE_BACK
};

static const char *set_up_pages(struct trial *t)
{
	map_pages(t);
	return NULL;
}

static const char *set_up_tracked(struct trial *t)
{
	map_pages(t);
	return track(t);
}

static void prepare_mprotect(struct trial *t)
{
	t->units = t->bytes / PAGE;
	protect(t->base, t->bytes, READ_WRITE);
	write_every(t, PAGE);
	if (t->kcase->way == GIVE_BACK)
		protect(t->base, t->bytes, PROT_READ);
}

static void run_mprotect(struct trial *t)
{
	protect(t->base, t->bytes,
		t->kcase->way == GIVE_BACK ? READ_WRITE : PROT_READ);
}

static void check_mprotect(struct trial *t)
{
	if (t->counters.faults > STRAY_FAULTS)
		die("%llu faults in mprotect",
		    (unsigned long long)t->counters.faults);
	/* Readable in both ways. */
	if (t->base[0] != 1 || t->base[t->bytes - PAGE] != 1)
		die("mprotect changed the memory");
}

static void prepare_rewrite(struct trial *t)
{
	t->units = t->bytes / PAGE;
	protect(t->base, t->bytes, PROT_READ);
	protect(t->base, t->bytes, READ_WRITE);
}

static void prepare_rewrite_unarmed(struct trial *t)
{
	t->units = t->bytes / PAGE;
	arm(t, true);
	arm(t, false);
}

static void run_rewrite(struct trial *t)
{
	write_every(t, PAGE);
}

/* Each page is mapped writable at once, or each takes a fault. */
static void check_rewrite(struct trial *t)
{
	uint64_t faults = t->counters.faults;

	if (faults > STRAY_FAULTS &&
	    (faults < t->units || faults > t->units + STRAY_FAULTS))
		die("%llu faults at %zu pages", (unsigned long long)faults,
		    t->units);
}

static void prepare_loop(struct trial *t)
{
	t->units = t->bytes / PAGE;
}

static void run_loop(struct trial *t)
{
	protect(t->base, t->bytes, PROT_READ);
	protect(t->base, t->bytes, READ_WRITE);
	write_every(t, PAGE);
}

static void prepare_small_region(struct trial *t)
{
	t->units = t->bytes / PAGE * SMALL_REGION_CALLS;
}

static void run_small_region(struct trial *t)
{
	for (int i = 0; i < SMALL_REGION_CALLS / 2; i++) {
		protect(t->base, t->bytes, PROT_READ);
		protect(t->base, t->bytes, READ_WRITE);
	}
}

static const struct steps mprotect_steps = {
	.set_up = set_up_pages,
	.prepare = prepare_mprotect,
	.run = run_mprotect,
	.check = check_mprotect,
	.tear_down = unmap_pages,
};

static const struct steps rewrite_steps = {
	.set_up = set_up_pages,
	.prepare = prepare_rewrite,
	.run = run_rewrite,
	.check = check_rewrite,
	.tear_down = unmap_pages,
};

static const struct steps unarmed_steps = {
	.set_up = set_up_tracked,
	.prepare = prepare_rewrite_unarmed,
	.run = run_rewrite,
	.check = check_rewrite,
	.tear_down = untrack,
};

static const struct steps loop_steps = {
	.set_up = set_up_pages,
	.prepare = prepare_loop,
	.run = run_loop,
	.check = check_rewrite,
	.tear_down = unmap_pages,
};

static const struct steps small_region_steps = {
	.set_up = set_up_pages,
	.prepare = prepare_small_region,
	.run = run_small_region,
	.check = check_mprotect,
	.tear_down = unmap_pages,
};

static const struct kcase cases[] = {
	{ ROW("mprotect.r", mprotect, 64 * MIB), .way = REMOVE },
	{ ROW("mprotect.rw", mprotect, 64 * MIB), .way = GIVE_BACK },
	{ ROW("mprotect.rewrite", rewrite, 64 * MIB) },
	{ ROW("uffd.rewrite", unarmed, 64 * MIB) },
	/* One iteration is one of the benchmark's loops; 40 would only take
	 * longer, where each is the same to the last digit. */
	{ ROW("s0.loop", loop, GIB), .iterations = 3 },
	{ ROW("s2.64k", small_region, 64 * KIB) },
	{ ROW("s2.4m", small_region, 4 * MIB) },
};

const struct family family_protect = FAMILY(cases);
