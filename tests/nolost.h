/* SPDX-License-Identifier: MIT */
/*
 * nolost.h: an image made of reported pages only equals the memory.
 *
 * Threads write to watched memory while a collector copies each page that is
 * reported, after the call that made it clean has returned.  When they have
 * stopped, one more collection must complete the image.  [G1]
 *
 * WTRACK_STRESS_SECONDS=N makes a program run for about N seconds (10).
 */
#ifndef NOLOST_H
#define NOLOST_H

#include "support_live.h"

struct scene;

/* Who writes. */
void nolost_store_somewhere(struct teammate *self);
void nolost_store_hot(struct teammate *self);
void nolost_store_and_rest(struct teammate *self);
void nolost_read_somewhere(struct teammate *self);
void nolost_come_and_go(struct teammate *self);

/* Who collects, and how. */
void nolost_collect_by_parts(struct scene *s);
void nolost_collect_snapshot(struct scene *s);
void nolost_look_and_clear(struct scene *s);
void nolost_collect_at_rest(struct scene *s);
void nolost_look_and_clear_at_rest(struct scene *s);
void nolost_collect_by_two(struct scene *s);

struct nolost {
	enum mem_kind kind;
	const struct wtrack_policy *policy;    /* NULL: exact */
	void (*writer)(struct teammate *self); /* two threads */
	void (*other)(struct teammate *self);  /* a third */
	void (*collect)(struct scene *s);
};

/* For the program's time, divided by `shares`. */
void nolost_run(const char *backend, struct nolost plan, double shares);

#endif
