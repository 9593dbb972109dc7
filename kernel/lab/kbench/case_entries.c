/* SPDX-License-Identifier: MIT */
/*
 * case_entries.c: what a collection costs where there is no PAGEMAP_SCAN: the
 * entries of all pages are read from pagemap, and what is not write-protected
 * there is armed, run by run.
 *
 * scan.* are the same by PAGEMAP_SCAN.
 */
#include "kbench.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	GET,
	GETWP
};

/* Values of kcase.every that are no distance. */
#define NONE 0u

/* Read at once: of 32 MiB, so that the calls themselves cost next to nothing.
 */
#define ENTRIES 8192u

static uint64_t entries[ENTRIES];

static const char *set_up(struct trial *t)
{
	/* Populated: what is read into must not fault. */
	memset(entries, 0xff, sizeof(entries));
	map_pages(t);
	return track_sync(t);
}

static size_t written_pages(const struct trial *t)
{
	unsigned every = t->kcase->every;

	return every == NONE ? 0 : t->bytes / PAGE / every;
}

/* Released is as good as written, on kernels that resolve no fault, too. */
static void prepare(struct trial *t)
{
	size_t stride = t->kcase->every * PAGE;

	t->units = t->bytes / PAGE;
	arm(t, t->kcase->every != 1);
	if (stride > PAGE)
		for (size_t i = 0; i < t->bytes; i += stride)
			arm_part(t, t->base + i, PAGE, false);
}

static size_t read_entries(const struct trial *t, uintptr_t start)
{
	uintptr_t end = (uintptr_t)t->base + t->bytes;
	size_t n = (end - start) / PAGE;
	size_t bytes = (n < ENTRIES ? n : ENTRIES) * sizeof(entries[0]);
	off_t at = (off_t)(start / PAGE * sizeof(entries[0]));

	if (pread(t->pagemap, entries, bytes, at) != (ssize_t)bytes)
		die("cannot read pagemap: %s", strerror(errno));
	return bytes / sizeof(entries[0]);
}

/* The runs of pages that are not armed; returns how many. */
static size_t look(const struct trial *t)
{
	uintptr_t at = (uintptr_t)t->base, end = at + t->bytes;
	struct wt_page_region *run = t->regions;
	bool inside = false;

	while (at < end) {
		size_t n = read_entries(t, at);

		for (size_t i = 0; i < n; i++, at += PAGE) {
			bool written = !(entries[i] & WT_PM_UFFD_WP);

			if (written && !inside)
				run->start = at;
			if (!written && inside)
				run++->end = at;
			inside = written;
		}
	}
	if (inside)
		run++->end = end;
	return (size_t)(run - t->regions);
}

static void run(struct trial *t)
{
	t->found = look(t);
	if (t->kcase->way == GET)
		return;
	for (size_t i = 0; i < t->found; i++) {
		const struct wt_page_region *r = &t->regions[i];

		arm_part(t, t->base + (r->start - (uintptr_t)t->base),
			 r->end - r->start, true);
	}
}

static void check(struct trial *t)
{
	size_t pages = pages_in(t, t->found);

	if (pages != written_pages(t))
		die("%zu pages read as written, not %zu", pages,
		    written_pages(t));
	pages = pages_in(t, look(t));
	if (pages != (t->kcase->way == GET ? written_pages(t) : 0))
		die("%zu pages read as written afterwards", pages);
}

static const struct steps entries_steps = {
	.set_up = set_up,
	.prepare = prepare,
	.run = run,
	.check = check,
	.tear_down = untrack,
};

#define WAYS(density, every_)                                                \
	{ ROW("entries.get." density ".64m", entries, 64 * MIB), .way = GET, \
	  .every = every_ },                                                 \
	{                                                                    \
		ROW("entries.getwp." density ".64m", entries, 64 * MIB),     \
			.way = GETWP, .every = every_                        \
	}

static const struct kcase cases[] = {
	WAYS("1/1", 1),
	WAYS("1/8", 8),
	WAYS("1/64", 64),
	WAYS("none", NONE),
};

const struct family family_entries = FAMILY(cases);
