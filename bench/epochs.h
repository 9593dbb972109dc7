/* SPDX-License-Identifier: MIT */
/*
 * epochs.h: what the cases share that compare policies over many epochs.
 *
 * A *habit* says which pages a program writes in each epoch, and a *workload*
 * is one that is under way.  *Runners* are handles that differ in their policy
 * and go through the same epochs of a *course* together.
 */
#ifndef WTRACK_BENCH_EPOCHS_H
#define WTRACK_BENCH_EPOCHS_H

#include "bench.h"

#include <wtrack.h>

/* --- workload.c: which pages are written in each epoch --- */

/* Numbers of pages; what is 0 is not written. */
struct habit {
	size_t hot;    /* in every epoch, scattered */
	size_t others; /* at random, anew for each epoch */
	size_t row;    /* those behind the last epoch's, around and around */
	size_t block;  /* one in each so many, another one each epoch */
	/* Every so many epochs, so many hot ones give way to others. */
	unsigned every;
	size_t replaced;
};

struct workload {
	const struct habit *habit;
	size_t pages; /* of the memory */
	uint64_t random;
	uint32_t epoch; /* the first is 1 */
	size_t n;       /* pages of this epoch ... */
	uint32_t *list; /* ... in the order of the stores */
	uint32_t *hot;
	size_t oldest;     /* of `hot`, which is a ring */
	uint32_t *is_hot;  /* for each page */
	uint32_t *written; /* for each page, in which epoch it was last */
};

/* The same habit always leads to the same pages. */
void workload_start(struct workload *w, const struct habit *habit,
		    size_t pages);
void workload_end(struct workload *w);
/* Chooses the pages of the next epoch. */
void workload_next(struct workload *w);
/* Stores once to each of them. */
void workload_write(const struct bench *b, const struct workload *w,
		    const struct span *span);

/* --- epochs.c: runners on a course --- */

/* At most. */
#define REPETITIONS 6

struct course {
	const char *name;
	const char *backend;
	struct habit habit;
	size_t len;              /* bytes that each runner watches */
	unsigned warm, measured; /* epochs; measured: up to LAPS */
	/* Timed are stores and collection, or the collection only, ... */
	bool collection_only;
	bool look;          /* ... or a look, against the first's collection */
	unsigned flags;     /* of the collections, beside GET and CLEAR */
	double limit;       /* of the ratio of times, 0: none */
	double false_limit; /* percent, 0: none */
	bool detailed;      /* reported with what the policy did */
	bool busy;          /* beside a thread on another processor */
};

struct runner {
	const char *label; /* its policy's name */
	uint32_t kind;     /* WTRACK_POLICY_* */
	struct wtrack *handle;
	struct span span;
	/* Nanoseconds of each measured epoch, in every repetition. */
	uint64_t time[LAPS][REPETITIONS];
	/* Pages in each measured epoch, of all repetitions. */
	uint64_t reported[LAPS], wrong[LAPS];
	size_t repetitions;
	/* Around the measured epochs, in the last repetition. */
	struct wtrack_stats before, after;
	struct wtrack_info info;
};

/* False if the backend is not available here, which it says. */
bool course_run(const struct bench *b, const struct course *course,
		struct runner *runners, size_t n);
/*
 * Microseconds of an epoch, on average: of its best repetition.  In a busy
 * course of the median: the best are those when the other processor was not
 * busy, but lent to another program.
 */
double runner_us(const struct runner *r, const struct course *course);
/* Percent of the pages reported in measured epochs [from, to). */
double runner_false_rate(const struct runner *r, size_t from, size_t to);
/* Pages of each of these epochs, on average. */
double runner_false_pages(const struct runner *r, size_t from, size_t to);

#endif
