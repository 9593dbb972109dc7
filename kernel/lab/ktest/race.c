/* SPDX-License-Identifier: MIT */
/*
 * race.c: a writer, a scanner that copies what is reported, and a comparison
 * at each standstill: a page that was not reported must still hold what was
 * copied last.
 */
#include "race.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SCANS_AN_EPOCH 10

static const struct race *plan;
static uint64_t *copies;
static struct wt_page_region *runs;

/* Threads run while it is even; each says so when it stands still. */
static _Atomic unsigned phase;
static _Atomic unsigned standing;
static _Atomic bool over;
static _Atomic uint64_t stores, disturbances;

static void stand_still(void)
{
	unsigned now = phase;

	if (now % 2 == 0)
		return;
	standing++;
	while (phase == now && !over)
		sched_yield();
}

/* Read-only for a moment: the store is tried again. */
static void on_segv(int signal)
{
	(void)signal;
	sched_yield();
}

static void *writer(void *unused)
{
	struct dice dice = { settings.seed + 1 };
	uint64_t value = 1;

	(void)unused;
	while (!over) {
		/* Stays on few pages, whose entries the processor knows. */
		size_t base = roll(&dice, plan->pages);

		for (int i = 0; i < 200 && !over; i++) {
			size_t page = (base + roll(&dice, 24)) % plan->pages;

			store(plan->start + page * PAGE, ++value);
			stores++;
			stand_still();
		}
	}
	return NULL;
}

static void *disturber(void *unused)
{
	struct dice dice = { settings.seed + 2 };

	(void)unused;
	while (!over) {
		plan->disturb(plan, &dice);
		disturbances++;
		stand_still();
	}
	return NULL;
}

static void copy_page(size_t page)
{
	copies[page] = load(plan->start + page * PAGE);
}

static void scan_and_copy(void)
{
	char *from = plan->start, *end = from + plan->pages * PAGE;

	while (from < end) {
		struct wt_pm_scan_arg arg =
			scan_of(from, (size_t)(end - from), runs, plan->room,
				WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC);
		long n = pagemap_scan(pagemap, &arg);

		check(n >= 0, "PAGEMAP_SCAN: %s", strerror(errno));
		for (long i = 0; i < n; i++)
			for (uint64_t a = runs[i].start; a < runs[i].end;
			     a += PAGE)
				copy_page((a - (uintptr_t)plan->start) / PAGE);
		check(arg.walk_end > (uintptr_t)from, "a scan without end");
		from += arg.walk_end - (uintptr_t)from;
	}
}

static void compare(unsigned epoch)
{
	for (size_t i = 0; i < plan->pages; i++) {
		uint64_t now = load(plan->start + i * PAGE);

		check(now == copies[i],
		      "epoch %u: page %zu holds %llu, was copied as %llu and "
		      "not reported since",
		      epoch, i, (unsigned long long)now,
		      (unsigned long long)copies[i]);
	}
}

static void epoch(unsigned n, unsigned threads)
{
	for (int scan = 0; scan < SCANS_AN_EPOCH; scan++) {
		uint64_t before = stores;

		scan_and_copy();
		/* With one processor nobody else runs by himself. */
		for (int i = 0; i < 1000 && stores == before; i++)
			sched_yield();
	}
	standing = 0;
	phase++;
	while (standing < threads)
		sched_yield();
	scan_and_copy();
	compare(n);
	phase++;
}

void run_race(const struct race *race)
{
	pthread_t threads[2];
	unsigned n = race->disturb ? 2 : 1;

	plan = race;
	copies = calloc(race->pages, sizeof(*copies));
	runs = calloc(race->room, sizeof(*runs));
	check(copies && runs, "no memory");
	signal(SIGSEGV, on_segv);
	over = false;
	phase = 0;
	stores = disturbances = 0;
	scan_and_copy();
	check(pthread_create(&threads[0], NULL, writer, NULL) == 0 &&
		      (n == 1 ||
		       pthread_create(&threads[1], NULL, disturber, NULL) == 0),
	      "no thread");
	for (unsigned i = 0; i < race->epochs; i++)
		epoch(i, n);
	over = true;
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	check(stores > race->epochs, "only %llu stores were made",
	      (unsigned long long)stores);
	check(n == 1 || disturbances > 1, "nothing was disturbed");
	free(copies);
	free(runs);
}
