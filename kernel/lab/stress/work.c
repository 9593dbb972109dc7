/* SPDX-License-Identifier: MIT */
/* work.c: storing to pages, and collecting those that were stored to. */
#include "stress.h"

#include <errno.h>
#include <string.h>

#define ROOM 300

static _Atomic uint64_t last_value;

/* Stays on few pages, so that the processor remembers their entries. */
void store_burst(struct dice *dice)
{
	struct area *area = some_area(dice);
	size_t base = roll(dice, area->pages), near = 1 + roll(dice, 40);

	pthread_rwlock_rdlock(&area->lock);
	for (int i = 0; i < 300; i++) {
		size_t page = (base + roll(dice, near)) % area->pages;

		*counter_of(area, page) = ++last_value;
	}
	pthread_rwlock_unlock(&area->lock);
	done[STORES] += 300;
}

/* What was reported is copied only after the call. */
static void scan_range(struct area *area, char *start, size_t size, size_t room)
{
	struct wt_page_region runs[ROOM];
	uint64_t from = (uintptr_t)start, end = from + size;

	while (from < end) {
		struct wt_pm_scan_arg arg =
			scan_of(start, 0, runs, room,
				WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC);
		long n;

		arg.start = from;
		arg.end = end;
		n = pagemap_scan(pagemap, &arg);
		if (n < 0 || arg.walk_end <= from)
			give_up("PAGEMAP_SCAN of %s: %ld, %s", area->name, n,
				strerror(errno));
		for (long i = 0; i < n; i++) {
			copy_pages(area, runs[i].start, runs[i].end);
			done[PAGES_REPORTED] +=
				(runs[i].end - runs[i].start) / PAGE;
		}
		from = arg.walk_end;
	}
}

static void begin(struct area *area)
{
	pthread_rwlock_rdlock(&area->lock);
	pthread_mutex_lock(&area->scanning);
}

static void end(struct area *area)
{
	pthread_mutex_unlock(&area->scanning);
	pthread_rwlock_unlock(&area->lock);
}

void scan_all(struct area *area)
{
	begin(area);
	scan_range(area, area->start, area->pages * PAGE, ROOM);
	end(area);
}

void scan_whole(struct dice *dice)
{
	scan_all(some_area(dice));
	done[SCANS]++;
}

void scan_part(struct dice *dice)
{
	struct area *area = some_area(dice);
	size_t size;
	char *start;

	begin(area);
	start = some_part(area, dice, &size);
	scan_range(area, start, size, 1 + roll(dice, ROOM));
	end(area);
	done[SCANS_OF_PARTS]++;
}

/* The other way: read, arm what was reported and nothing else, then copy. */
void scan_then_arm(struct dice *dice)
{
	struct area *area = some_area(dice);
	struct wt_page_region runs[ROOM];
	struct wt_pm_scan_arg arg;
	long n;

	begin(area);
	arg = scan_of(area->start, area->pages * PAGE, runs, ROOM, 0);
	n = pagemap_scan(pagemap, &arg);
	if (n < 0)
		give_up("PAGEMAP_SCAN of %s: %s", area->name, strerror(errno));
	for (long i = 0; i < n; i++) {
		char *start =
			area->start + (runs[i].start - (uintptr_t)area->start);

		if (uffd_arm(uffd, start, runs[i].end - runs[i].start, true))
			give_up("arm %s: %s", area->name, strerror(errno));
		copy_pages(area, runs[i].start, runs[i].end);
	}
	end(area);
	done[SCANS_THEN_ARMED]++;
}
