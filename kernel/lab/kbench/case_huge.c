/* SPDX-License-Identifier: MIT */
/*
 * case_huge.c: protection of transparent huge pages, whose entries are changed
 * whole.  A unit is a huge page.
 *
 * s1.* are flips, there and back, in the sizes that fast path was made with.
 */
#include "kbench.h"

#include <sys/mman.h>

enum {
	BY_MPROTECT,
	BY_UFFD,
	BY_SCAN
};
enum {
	ARM,
	ARM_AGAIN,
	RELEASE,
	RELEASE_AGAIN,
	GET,
	GET_ARM
};

static const char *set_up_huge(struct trial *t)
{
	const char *why = map_huge_pages(t);

	return why ? why : track(t);
}

static void check_whole(struct trial *t)
{
	if (huge_bytes() != t->bytes)
		die("huge pages were split");
}

static void prepare_flip(struct trial *t)
{
	t->units = t->bytes / HUGE_PAGE;
	arm(t, false);
	/* So that the entries read as written by hardware, too. */
	write_every(t, HUGE_PAGE);
}

static void run_flip(struct trial *t)
{
	switch (t->kcase->way) {
	case BY_MPROTECT:
		protect(t->base, t->bytes, PROT_READ);
		protect(t->base, t->bytes, PROT_READ | PROT_WRITE);
		break;
	case BY_UFFD:
		arm(t, true);
		arm(t, false);
		break;
	default:
		scan_get_arm(t);
	}
}

static void check_flip(struct trial *t)
{
	check_whole(t);
	expect_written(t, t->kcase->way == BY_SCAN ? 0 : t->bytes / PAGE);
}

static void prepare_arm(struct trial *t)
{
	int way = t->kcase->way;

	t->units = t->bytes / HUGE_PAGE;
	arm(t, way == ARM_AGAIN || way == RELEASE);
}

static void run_arm(struct trial *t)
{
	switch (t->kcase->way) {
	case ARM:
	case ARM_AGAIN:
		arm(t, true);
		break;
	case RELEASE:
	case RELEASE_AGAIN:
		arm(t, false);
		break;
	case GET:
		scan_get(t);
		break;
	default:
		scan_get_arm(t);
	}
}

static void check_arm(struct trial *t)
{
	int way = t->kcase->way;
	bool armed = way == ARM || way == ARM_AGAIN || way == GET_ARM;

	if (way == GET || way == GET_ARM) {
		size_t found = pages_in(t, 1);

		if (found != t->bytes / PAGE)
			die("a scan reported %zu pages", found);
	}
	check_whole(t);
	expect_written(t, armed ? 0 : t->bytes / PAGE);
}

static const struct steps flip_steps = {
	.set_up = set_up_huge,
	.prepare = prepare_flip,
	.run = run_flip,
	.check = check_flip,
	.tear_down = untrack,
};

static const struct steps arm_steps = {
	.set_up = set_up_huge,
	.prepare = prepare_arm,
	.run = run_arm,
	.check = check_arm,
	.tear_down = untrack,
};

#define FLIP(name, way_, mib)                               \
	{                                                   \
		ROW(name #mib, flip, mib *MIB), .way = way_ \
	}
#define FLIPS(mib)                              \
	FLIP("s1.mprotect.", BY_MPROTECT, mib), \
		FLIP("s1.uffd.", BY_UFFD, mib), FLIP("s1.scan.", BY_SCAN, mib)

static const struct kcase cases[] = {
	FLIPS(64),
	FLIPS(128),
	FLIPS(256),
	FLIPS(320),
	FLIPS(448),
	FLIPS(512),
	/* For what one entry costs: 512 entries, each in a page of its own. */
	FLIPS(1024),
	{ ROW("thp.arm", arm, GIB), .way = ARM },
	{ ROW("thp.arm.again", arm, GIB), .way = ARM_AGAIN },
	{ ROW("thp.release", arm, GIB), .way = RELEASE },
	{ ROW("thp.release.again", arm, GIB), .way = RELEASE_AGAIN },
	{ ROW("thp.get", arm, GIB), .way = GET },
	{ ROW("thp.getwp", arm, GIB), .way = GET_ARM },
};

const struct family family_huge = FAMILY(cases);
