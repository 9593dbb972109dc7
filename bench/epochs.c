/* SPDX-License-Identifier: MIT */
/*
 * epochs.c: takes handles with different policies through the same epochs.
 *
 * In each epoch every runner in turn has the same pages of its own memory
 * written and then collects; who goes first changes.  A repetition begins with
 * new handles and repeats the pages, so the times of an epoch can be compared.
 *
 * Every answer is compared with what was written: a page that was left out, a
 * false one that is not presumed, or any false one of `exact` ends it all.
 */
#include "epochs.h"

#include <stdlib.h>
#include <string.h>

static struct wtrack_run *const runs = (struct wtrack_run *)(void *)runs_buffer;

static ssize_t collect(const struct runner *r, unsigned flags)
{
	ssize_t n = wtrack_collect(r->handle, NULL, runs, RUNS_MAX, flags);

	if (n < 0)
		bench_die("wtrack_collect[%s]: %s", r->label,
			  strerror((int)-n));
	if ((size_t)n == RUNS_MAX)
		bench_die("wtrack_collect[%s]: too many runs", r->label);
	return n;
}

/* How many pages of the run were not written in this epoch. */
static size_t count_wrong(const struct bench *b, const struct runner *r,
			  const struct workload *w,
			  const struct wtrack_run *run)
{
	uintptr_t base = (uintptr_t)r->span.base;
	size_t n = 0;

	for (uintptr_t at = run->start; at < run->end; at += b->page)
		if (w->written[(at - base) / b->page] != w->epoch)
			n++;
	return n;
}

static void check(const struct bench *b, struct runner *r,
		  const struct workload *w, size_t n, size_t lap)
{
	uintptr_t end = (uintptr_t)r->span.base;
	const uintptr_t last = end + r->span.len;
	size_t reported = 0, wrong = 0;

	for (size_t i = 0; i < n; i++) {
		size_t of_run;

		if (runs[i].start < end || runs[i].end > last)
			bench_die("%s reported a page twice, or a foreign one",
				  r->label);
		of_run = count_wrong(b, r, w, &runs[i]);
		if (of_run && !(runs[i].flags & WTRACK_RUN_PRESUMED))
			bench_die("%s reported a false page as written",
				  r->label);
		end = runs[i].end;
		reported += (runs[i].end - runs[i].start) / b->page;
		wrong += of_run;
	}
	if (reported - wrong != w->n)
		bench_die("%s reported %zu of %zu written pages", r->label,
			  reported - wrong, w->n);
	if (wrong && r->kind == WTRACK_POLICY_EXACT)
		bench_die("%s reported %zu false pages", r->label, wrong);
	if (lap < LAPS) {
		r->reported[lap] += reported;
		r->wrong[lap] += wrong;
	}
}

/* `lap` is LAPS or more while they warm up. */
static void take_turn(const struct bench *b, const struct course *c,
		      struct runner *r, const struct workload *w, size_t lap)
{
	const unsigned both = WTRACK_GET | WTRACK_CLEAR | c->flags;
	bool look = c->look && r->kind != WTRACK_POLICY_EXACT;
	uint64_t start = bench_now(), end;
	ssize_t n;

	workload_write(b, w, &r->span);
	if (c->collection_only || c->look)
		start = bench_now();
	n = collect(r, look ? WTRACK_GET : both);
	end = bench_now();
	if (lap < LAPS)
		r->time[lap][r->repetitions] = end - start;
	check(b, r, w, (size_t)n, lap);
	if (look)
		collect(r, both);
}

static bool open_runner(const struct course *c, struct runner *r)
{
	struct wtrack_policy policy = WTRACK_POLICY_INIT(r->kind);
	struct wtrack_options opts = WTRACK_OPTIONS_INIT;
	int rc;

	opts.backend = c->backend;
	if (r->kind != WTRACK_POLICY_EXACT)
		opts.policy = &policy;
	rc = wtrack_open(&opts, &r->handle);
	if (rc != 0) {
		bench_note("%s: without %s[%s], not available here (%s)",
			   c->name, c->backend, r->label, strerror(-rc));
		return false;
	}
	rc = wtrack_watch(r->handle, r->span.base, r->span.len, 0);
	if (rc != 0)
		bench_die("wtrack_watch[%s]: %s", r->label, strerror(-rc));
	return true;
}

static void read_stats(const struct runner *r, struct wtrack_stats *stats)
{
	int rc;

	stats->size = sizeof(*stats);
	rc = wtrack_stats(r->handle, stats);
	if (rc != 0)
		bench_die("wtrack_stats[%s]: %s", r->label, strerror(-rc));
}

static void close_runner(const struct bench *b, struct runner *r)
{
	int rc;

	read_stats(r, &r->after);
	r->info.size = sizeof(r->info);
	rc = wtrack_info(r->handle, &r->info);
	if (rc != 0)
		bench_die("wtrack_info[%s]: %s", r->label, strerror(-rc));
	r->repetitions++;
	wtrack_close(r->handle);
	/* Pages left write-protected would fault in the next repetition. */
	span_populate(b, &r->span);
}

static void repeat(const struct bench *b, const struct course *c,
		   struct runner *r, size_t n, size_t shift)
{
	struct workload w;

	workload_start(&w, &c->habit, c->len / b->page);
	for (size_t epoch = 0; epoch < c->warm + c->measured; epoch++) {
		bool warm = epoch < c->warm;

		workload_next(&w);
		for (size_t i = 0; i < n && epoch == c->warm; i++)
			read_stats(&r[i], &r[i].before);
		for (size_t i = 0; i < n; i++)
			take_turn(b, c, &r[(epoch + shift + i) % n], &w,
				  warm ? LAPS : epoch - c->warm);
	}
	workload_end(&w);
}

bool course_run(const struct bench *b, const struct course *c, struct runner *r,
		size_t n)
{
	size_t repetitions = b->quick ? 2 : REPETITIONS;
	size_t opened = n;

	for (size_t i = 0; i < n; i++) {
		r[i].span = span_map(b, c->len);
		span_populate(b, &r[i].span);
	}
	for (size_t k = 0; k < repetitions && opened == n; k++) {
		for (opened = 0; opened < n; opened++)
			if (!open_runner(c, &r[opened]))
				break;
		if (opened == n)
			repeat(b, c, r, n, k);
		for (size_t i = 0; i < opened; i++)
			close_runner(b, &r[i]);
	}
	for (size_t i = 0; i < n; i++)
		span_unmap(b, &r[i].span);
	return opened == n;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

double runner_us(const struct runner *r, const struct course *c)
{
	uint64_t sum = 0;

	for (size_t lap = 0; lap < c->measured; lap++) {
		uint64_t time[REPETITIONS];

		memcpy(time, r->time[lap], sizeof(time));
		qsort(time, r->repetitions, sizeof(time[0]), compare);
		sum += time[c->busy ? r->repetitions / 2 : 0];
	}
	return (double)sum / 1000 / c->measured;
}

double runner_false_rate(const struct runner *r, size_t from, size_t to)
{
	uint64_t reported = 0, wrong = 0;

	for (size_t i = from; i < to; i++) {
		reported += r->reported[i];
		wrong += r->wrong[i];
	}
	return reported ? 100 * (double)wrong / (double)reported : 0;
}

double runner_false_pages(const struct runner *r, size_t from, size_t to)
{
	uint64_t wrong = 0;

	for (size_t i = from; i < to; i++)
		wrong += r->wrong[i];
	return (double)wrong / (double)r->repetitions / (double)(to - from);
}
