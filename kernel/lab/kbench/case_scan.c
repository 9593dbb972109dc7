/* SPDX-License-Identifier: MIT */
/*
 * case_scan.c: PAGEMAP_SCAN over small pages: what it costs to get the written
 * pages, to arm them, and to do both at once.
 *
 * Where it says 1/8, every 8th page of the memory was written; with "table" all
 * pages of one page table were, with "page" one page.  s3.* is the benchmark
 * that fast path was made for.
 */
#include "kbench.h"

enum {
	GET,
	WP,
	GETWP,
	GET_THEN_WP,
	/* Asks for one category more than the short loops answer. */
	GET_RICH,
	GETWP_RICH
};

/* Values of kcase.every that are no distance. */
#define NONE      0u
#define ONE_TABLE (1u << 30)
#define ONE_PAGE  (1u << 31)

static const char *set_up(struct trial *t)
{
	map_pages(t);
	return track(t);
}

static size_t written_pages(const struct trial *t)
{
	switch (t->kcase->every) {
	case NONE:
		return 0;
	case ONE_TABLE:
		return HUGE_PAGE / PAGE;
	case ONE_PAGE:
		return 1;
	default:
		return t->bytes / PAGE / t->kcase->every;
	}
}

/* In the middle of the memory, in a page table of its own. */
static void write_one_table(const struct trial *t, size_t pages)
{
	size_t middle = t->bytes / 2 & -HUGE_PAGE;

	for (size_t i = 0; i < pages; i++)
		*(volatile unsigned char *)(t->base + middle + i * PAGE) = 1;
}

static bool changes_nothing(const struct trial *t)
{
	int way = t->kcase->way;

	return way == GET || way == GET_RICH || t->kcase->every == NONE;
}

/* All written costs no faults this way. */
static void prepare(struct trial *t)
{
	unsigned every = t->kcase->every;

	t->units = t->bytes / PAGE;
	if (t->iteration > 0 && changes_nothing(t))
		return;
	arm(t, every != 1);
	if (every == ONE_TABLE || every == ONE_PAGE)
		write_one_table(t, written_pages(t));
	else if (every > 1)
		write_every(t, every * PAGE);
}

static void run(struct trial *t)
{
	size_t n = 0;

	switch (t->kcase->way) {
	case GET:
		n = scan_get(t);
		break;
	case WP:
		scan_arm(t);
		return;
	case GETWP:
		n = scan_get_arm(t);
		break;
	case GET_THEN_WP:
		n = scan_get(t);
		scan_arm(t);
		break;
	case GET_RICH:
		n = scan(t, 0, WT_PAGE_IS_PRESENT);
		break;
	default:
		n = scan(t, WT_PM_WP_MATCHING, WT_PAGE_IS_PRESENT);
	}
	t->found = n;
}

static void check(struct trial *t)
{
	int way = t->kcase->way;
	bool arms = way != GET && way != GET_RICH;

	if (way != WP && pages_in(t, t->found) != written_pages(t))
		die("a scan reported %zu pages, not %zu", pages_in(t, t->found),
		    written_pages(t));
	expect_written(t, arms ? 0 : written_pages(t));
}

static const struct steps scan_steps = {
	.set_up = set_up,
	.prepare = prepare,
	.run = run,
	.check = check,
	.tear_down = untrack,
};

#define SCAN(name, way_, every_, size, n)                            \
	{                                                            \
		ROW(name, scan, size), .way = way_, .every = every_, \
				       .iterations = n               \
	}
#define WAYS(density, every, suffix, size, n)                        \
	SCAN("scan.get." density suffix, GET, every, size, n),       \
		SCAN("scan.wp." density suffix, WP, every, size, n), \
		SCAN("scan.getwp." density suffix, GETWP, every, size, n)
#define DENSITIES(suffix, size, n)                                        \
	WAYS("1/1", 1, suffix, size, n), WAYS("1/2", 2, suffix, size, n), \
		WAYS("1/8", 8, suffix, size, n),                          \
		WAYS("1/64", 64, suffix, size, n),                        \
		WAYS("1/512", 512, suffix, size, n),                      \
		WAYS("none", NONE, suffix, size, n),                      \
		WAYS("table", ONE_TABLE, suffix, size, n),                \
		WAYS("page", ONE_PAGE, suffix, size, n)

static const struct kcase cases[] = {
	SCAN("s3.t1", GET_THEN_WP, 1, 8192 * PAGE, 0),
	SCAN("s3.t2", WP, 1, 8192 * PAGE, 0),
	SCAN("s3.t3", GETWP, 1, 8192 * PAGE, 0),
	DENSITIES(".64m", 64 * MIB, 0),
	SCAN("scan.get-rich.1/64.64m", GET_RICH, 64, 64 * MIB, 0),
	SCAN("scan.getwp-rich.1/64.64m", GETWP_RICH, 64, 64 * MIB, 0),
	/* Two, as the dirtying takes long and they do not differ. */
	DENSITIES(".1g", GIB, 2),
};

const struct family family_scan = FAMILY(cases);
