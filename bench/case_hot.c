/* SPDX-License-Identifier: MIT */
/*
 * case_hot.c: what a program pays for each epoch that leaves its hot pages
 * un-armed, against one with exact tracking.
 *
 * All stores of an epoch and its collection count, for a policy saves faults
 * in the stores and pays for it in the collection.  `false` is the part of
 * the reported pages that were not written.
 *
 * In `pure` all pages are hot: what is found out at first is all there is.
 * In `sparse` nothing becomes hot and only the collection counts: one page is
 * written in each page table, so that a fused look and clearing flushes the
 * TLB once for each.  `stopped` is the same with that promise, `look` has the
 * policy's handle look only.  `busy` has another thread compute on another
 * processor meanwhile, which makes each flush dear.
 */
#include "epochs.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The hot set of `change` is replaced after so many epochs. */
#define CHANGE 60
/* And its false pages are counted for so many more. */
#define AFTER 20

#define STEADY .hot = 1024, .others = 64
#define SPARSE \
	.len = 512 * MIB, .collection_only = true, .habit = { .block = 512 }

static const struct course courses[] = {
	{ .name = "hot.steady",
	  .habit = { STEADY },
	  .limit = 0.30,
	  .false_limit = 1,
	  .detailed = true },
	{ .name = "hot.pure", .habit = { .hot = 1024 } },
	{ .name = "hot.drift",
	  .habit = { STEADY, .every = 10, .replaced = 102 },
	  .limit = 0.25,
	  .false_limit = 10 },
	{ .name = "hot.change",
	  .habit = { STEADY, .every = CHANGE, .replaced = 1024 },
	  .warm = 30,
	  .measured = CHANGE - 30 + 50 },
	{ .name = "hot.random", .habit = { .others = 1088 }, .limit = 1.05 },
	{ .name = "hot.sweep", .habit = { .row = 1088 }, .limit = 1.05 },
	{ .name = "hot.sparse", SPARSE, .limit = 0.7 },
	{ .name = "hot.stopped", SPARSE, .flags = WTRACK_STOPPED },
	{ .name = "hot.look", SPARSE, .look = true, .limit = 0.05 },
	/* Their faults take long. */
	{ .name = "hot.steady",
	  .backend = "wp",
	  .habit = { STEADY },
	  .warm = 30,
	  .measured = 32 },
	{ .name = "hot.steady",
	  .backend = "mprotect",
	  .habit = { STEADY },
	  .warm = 30,
	  .measured = 32 },
};

static const struct course busy_courses[] = {
	{ .name = "busy.steady", .habit = { STEADY }, .detailed = true },
	{ .name = "busy.random", .habit = { .others = 1088 } },
	{ .name = "busy.sparse", SPARSE, .limit = 0.7, .detailed = true },
	{ .name = "busy.stopped",
	  SPARSE,
	  .flags = WTRACK_STOPPED,
	  .detailed = true },
	{ .name = "busy.look", SPARSE, .look = true, .limit = 0.05 },
};

enum {
	EXACT,
	COPY,
	RESCAN,
	NRUNNERS
};
static const struct runner runners[NRUNNERS] = {
	[EXACT] = { .label = "exact", .kind = WTRACK_POLICY_EXACT },
	[COPY] = { .label = "copy", .kind = WTRACK_POLICY_COPY },
	[RESCAN] = { .label = "rescan", .kind = WTRACK_POLICY_RESCAN },
};

/* What a course leaves at 0, and less of everything for a quick look. */
static void complete(const struct bench *b, struct course *c)
{
	const size_t part = b->quick || b->exact ? 8 : 1;

	if (!c->backend)
		c->backend = "scan";
	if (!c->len)
		c->len = 64 * MIB;
	if (!c->measured) {
		c->warm = 30;
		c->measured = part > 1 ? 32 : LAPS;
	}
	c->len /= part;
	c->habit.hot /= part;
	c->habit.others /= part;
	c->habit.row /= part;
	c->habit.replaced /= part;
}

static size_t written(const struct bench *b, const struct course *c)
{
	const struct habit *h = &c->habit;

	if (h->block)
		return c->len / b->page / h->block;
	return h->hot + h->others + h->row;
}

static void put(const struct bench *b, const struct course *c, const char *what,
		struct row row)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", c->name, what);
	row.name = name;
	row.backend = c->backend;
	row.n = written(b, c);
	report_row(b, &row);
}

/* Only what is for the policy that copies has a target. */
static void put_time(const struct bench *b, const struct course *c,
		     const struct runner *r, size_t who)
{
	const struct row row = {
		.value = runner_us(&r[who], c),
		.unit = "us",
		.peer = r[EXACT].label,
		.peer_value = runner_us(&r[EXACT], c),
		.target = who == COPY && c->limit > 0 ? TARGET_RATIO
						      : TARGET_NONE,
		.limit = c->limit,
	};

	put(b, c, r[who].label, row);
}

static void put_false(const struct bench *b, const struct course *c,
		      const struct runner *r, size_t who)
{
	const struct row row = {
		.value = runner_false_rate(&r[who], 0, c->measured),
		.unit = "%",
		.target = who == COPY && c->false_limit > 0 ? TARGET_VALUE
							    : TARGET_NONE,
		.limit = c->false_limit,
	};
	char what[32];

	snprintf(what, sizeof(what), "%s.false", r[who].label);
	put(b, c, what, row);
}

/* Per epoch: what the policy saved, and what it did for that. */
static void put_stats(const struct bench *b, const struct course *c,
		      const struct runner *r)
{
#define GREW(field) (r->after.field - r->before.field)
	const struct {
		const char *what;
		uint64_t n;
		const char *unit;
	} figures[] = {
		{ "avoided", GREW(faults_avoided), "pages" },
		{ "checks", GREW(rechecks), "pages" },
		{ "checks-clean", GREW(rechecks_clean), "pages" },
		{ "arms-run", GREW(arms_run), "calls" },
		{ "arms-wide", GREW(arms_wide), "calls" },
		{ "arms-fused", GREW(arms_fused), "calls" },
	};
#undef GREW

	for (size_t i = 0; i < COUNT(figures); i++)
		put(b, c, figures[i].what,
		    (struct row){ .unit = figures[i].unit,
				  .value =
					  (double)figures[i].n / c->measured });
}

/* What the policy reckons with. */
static void put_costs(const struct bench *b, const struct course *c,
		      const struct wtrack_info *info)
{
	const struct {
		const char *what;
		uint32_t ns;
	} costs[] = {
		{ "cost-fault", info->fault_ns },
		{ "cost-arm", info->arm_ns },
		{ "cost-arm-page", info->arm_page_ns },
		{ "cost-call", info->call_ns },
		{ "cost-fused", info->fused_ns },
		{ "cost-look", info->look_ns },
	};

	for (size_t i = 0; i < COUNT(costs); i++)
		put(b, c, costs[i].what,
		    (struct row){ .unit = "ns", .value = costs[i].ns });
}

/* How many epochs are like the first after the change, or not much better. */
static size_t recovery(const struct course *c, const struct runner *r,
		       size_t change)
{
	size_t n = c->measured - change;

	while (n > 0 && runner_false_rate(r, change + n - 1, change + n) < 10)
		n--;
	return n;
}

static void put_change(const struct bench *b, const struct course *c,
		       const struct runner *r, size_t who)
{
	size_t change = c->habit.every - c->warm;
	const bool target = who == COPY;
	char what[32];

	snprintf(what, sizeof(what), "%s.recovery", r[who].label);
	put(b, c, what,
	    (struct row){ .value = (double)recovery(c, &r[who], change),
			  .unit = "epochs",
			  .target = target ? TARGET_VALUE : TARGET_NONE,
			  .limit = 20 });
	snprintf(what, sizeof(what), "%s.after", r[who].label);
	put(b, c, what,
	    (struct row){ .value = runner_false_pages(&r[who], change,
						      change + AFTER),
			  .unit = "pages" });
}

static void run_course(const struct bench *b, struct course c)
{
	static struct runner r[NRUNNERS];

	memcpy(r, runners, sizeof(r));
	complete(b, &c);
	if (!course_run(b, &c, r, NRUNNERS))
		return;
	for (size_t who = COPY; who < NRUNNERS; who++) {
		put_time(b, &c, r, who);
		put_false(b, &c, r, who);
		if (c.habit.every == CHANGE)
			put_change(b, &c, r, who);
	}
	if (c.detailed)
		put_stats(b, &c, &r[COPY]);
	if (c.detailed && c.habit.hot)
		put_costs(b, &c, &r[COPY].info);
}

void case_hot(const struct bench *b)
{
	for (size_t i = 0; i < COUNT(courses); i++)
		run_course(b, courses[i]);
}

void case_busy(const struct bench *b)
{
	if (!processor_keep_busy()) {
		bench_note("busy: not available here (one processor)");
		return;
	}
	for (size_t i = 0; i < COUNT(busy_courses); i++) {
		struct course c = busy_courses[i];

		c.busy = true;
		run_course(b, c);
	}
	processor_release();
}
