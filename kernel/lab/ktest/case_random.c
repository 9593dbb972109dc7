/* SPDX-License-Identifier: MIT */
/*
 * case_random.c: random stores, reads, discards, changes of protection, arming
 * and scans of all kinds, each held against a model.
 *
 * --seed and --steps choose what is played; a failure names the step.
 */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define GET_ARM (WT_PM_WP_MATCHING | WT_PM_CHECK_WPASYNC)

static char *at(const struct model *m, size_t page)
{
	return m->start + page * PAGE;
}

static void stored(struct model *m, size_t page)
{
	m->page[page].value = m->value;
	m->page[page].armed = false;
}

static void op_store(struct model *m)
{
	size_t page = roll(&m->dice, m->pages);

	store(at(m, page), ++m->value);
	stored(m, page);
}

static void op_store_many(struct model *m)
{
	struct stretch s = some_pages(m);
	size_t step = 1 + roll(&m->dice, 9);

	for (size_t i = s.from; i < s.from + s.n; i += step) {
		store(at(m, i), ++m->value);
		stored(m, i);
	}
}

static void op_kernel_write(struct model *m)
{
	size_t page = roll(&m->dice, m->pages);
	int ends[2];

	m->value++;
	check(pipe(ends) == 0 &&
		      write(ends[1], &m->value, sizeof(m->value)) ==
			      sizeof(m->value) &&
		      read(ends[0], at(m, page), sizeof(m->value)) ==
			      sizeof(m->value),
	      "read(2) into it: %s", strerror(errno));
	close(ends[0]);
	close(ends[1]);
	stored(m, page);
}

static void op_load(struct model *m)
{
	struct stretch s = some_pages(m);

	if (s.n > 40)
		s.n = 40;
	model_check_contents(m, s);
}

/* Private memory loses what it holds; only files keep being armed. */
static void op_discard(struct model *m)
{
	struct stretch s = some_pages(m);

	check(madvise(at(m, s.from), s.n * PAGE, MADV_DONTNEED) == 0,
	      "madvise: %s", strerror(errno));
	for (size_t i = s.from; i < s.from + s.n; i++) {
		enum kind kind = kind_of(m, i);

		if (kind == KIND_SHMEM)
			continue;
		if (kind == KIND_FILE) {
			m->page[i].value = i - m->first[3];
			continue;
		}
		m->page[i].value = 0;
		m->page[i].armed = false;
	}
}

static void op_scan(struct model *m)
{
	struct wt_pm_scan_arg arg =
		model_scan_of(m, some_pages(m), m->pages, 0);

	model_scan(m, &arg);
}

static void op_scan_arm(struct model *m)
{
	struct wt_pm_scan_arg arg =
		model_scan_of(m, some_pages(m), m->pages, GET_ARM);

	model_scan(m, &arg);
}

/* Stops in the middle, by runs or by pages. */
static void op_scan_limited(struct model *m)
{
	uint64_t flags = roll(&m->dice, 2) ? GET_ARM : 0;
	size_t room = 1 + roll(&m->dice, roll(&m->dice, 2) ? 8 : 600);
	struct wt_pm_scan_arg arg =
		model_scan_of(m, some_pages(m), room, flags);

	if (roll(&m->dice, 2))
		arg.max_pages = 1 + roll(&m->dice, 1000);
	model_scan(m, &arg);
}

/* Masks that say the same, but that no short loop is for. */
static void op_scan_other(struct model *m)
{
	uint64_t flags = roll(&m->dice, 2) ? GET_ARM : 0;
	struct wt_pm_scan_arg arg =
		model_scan_of(m, some_pages(m), m->pages, flags);

	switch (roll(&m->dice, 3)) {
	case 0:
		arg.return_mask |= WT_PAGE_IS_PRESENT | WT_PAGE_IS_SWAPPED |
				   CATEGORY_PFNZERO;
		break;
	case 1:
		arg.category_mask = 0;
		arg.category_anyof_mask = WT_PAGE_IS_WRITTEN;
		break;
	default:
		arg.category_inverted = WT_PAGE_IS_SWAPPED;
		arg.return_mask |= WT_PAGE_IS_WPALLOWED;
	}
	model_scan(m, &arg);
}

static void set_armed(struct model *m, struct stretch s, bool on)
{
	for (size_t i = s.from; i < s.from + s.n; i++)
		m->page[i].armed = on;
}

static void op_scan_arm_alone(struct model *m)
{
	struct stretch s = some_pages(m);
	struct wt_pm_scan_arg arg = model_scan_of(m, s, 0, GET_ARM);

	check(pagemap_scan(pagemap, &arg) == 0, "PAGEMAP_SCAN: %s",
	      strerror(errno));
	set_armed(m, s, true);
}

static void op_arm(struct model *m)
{
	struct stretch s = some_pages(m);
	bool on = roll(&m->dice, 3) != 0;

	arm(at(m, s.from), s.n * PAGE, on);
	set_armed(m, s, on);
}

static void op_protect(struct model *m)
{
	struct stretch s = some_pages(m);
	struct wt_pm_scan_arg arg = model_scan_of(m, s, m->pages, 0);

	check(mprotect(at(m, s.from), s.n * PAGE, PROT_READ) == 0,
	      "mprotect: %s", strerror(errno));
	model_scan(m, &arg);
	check(mprotect(at(m, s.from), s.n * PAGE, PROT_READ | PROT_WRITE) == 0,
	      "mprotect: %s", strerror(errno));
}

static void op_advise(struct model *m)
{
	static const int advice[] = { ADVICE_PAGEOUT, ADVICE_COLD,
				      ADVICE_COLLAPSE };
	struct stretch s = some_pages(m);

	/* Any of them may be refused, and none changes what is seen. */
	(void)madvise(at(m, s.from), s.n * PAGE, advice[roll(&m->dice, 3)]);
}

static void op_fork(struct model *m)
{
	struct stretch all = { 0, m->pages };
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		model_check_contents(m, all);
		for (size_t i = 0; i < m->pages; i += 13)
			if (kind_of(m, i) != KIND_SHMEM)
				store(at(m, i), 1);
		_exit(0);
	}
	check(child > 0 && waitpid(child, &status, 0) == child, "fork: %s",
	      strerror(errno));
	if (status != 0)
		_exit(1);
}

static const struct {
	const char *name;
	void (*run)(struct model *m);
	unsigned weight;
} ops[] = {
	{ "store", op_store, 300 },
	{ "store to many", op_store_many, 40 },
	{ "write by the kernel", op_kernel_write, 40 },
	{ "load", op_load, 60 },
	{ "discard", op_discard, 20 },
	{ "scan", op_scan, 80 },
	{ "scan and arm", op_scan_arm, 100 },
	{ "scan with limits", op_scan_limited, 80 },
	{ "scan with other masks", op_scan_other, 60 },
	{ "arm without a vector", op_scan_arm_alone, 10 },
	{ "arm or un-arm", op_arm, 40 },
	{ "mprotect", op_protect, 20 },
	{ "madvise", op_advise, 15 },
	{ "fork", op_fork, 3 },
};

#define N_OPS (sizeof(ops) / sizeof(ops[0]))

static void step(struct model *m, size_t n)
{
	uint64_t total = 0, pick;
	size_t i;

	for (i = 0; i < N_OPS; i++)
		total += ops[i].weight;
	pick = roll(&m->dice, total);
	for (i = 0; pick >= ops[i].weight; i++)
		pick -= ops[i].weight;
	snprintf(context, sizeof(context),
		 "seed %llu step %zu (%s): ", (unsigned long long)settings.seed,
		 n, ops[i].name);
	ops[i].run(m);
}

static void against_a_model(void)
{
	struct model m = { .dice = { settings.seed } };
	struct stretch all;

	model_make(&m);
	all = (struct stretch){ 0, m.pages };
	for (size_t n = 0; n < settings.steps; n++) {
		step(&m, n);
		if (n % 512 == 511)
			model_check_contents(&m, all);
	}
}

const struct test random_tests[] = {
	{ "random_against_a_model", against_a_model },
	{ 0 },
};
