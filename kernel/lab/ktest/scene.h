/* SPDX-License-Identifier: MIT */
/*
 * scene.h: one range of many mappings, so that one scan meets huge pages, small
 * ones, holes, swap entries, shared memory and files, in this order.
 */
#ifndef KTEST_SCENE_H
#define KTEST_SCENE_H

#include "ktest.h"

struct part {
	const char *name;
	enum kind kind;
	size_t first, pages;
	bool populated;
	bool swapped;
};

#define PARTS 8

struct scene {
	char *start;
	size_t pages;
	struct part parts[PARTS];
};

/* Everything reads written; without swap that part is as populated. */
struct scene make_scene(void);
/* Stores at random to N pages of each part; want says to which in all. */
void store_some(const struct scene *s, size_t n, struct dice *dice,
		unsigned char *want);
/* Stores to every page whose number is a multiple of this, plus a rest. */
void store_every(const struct scene *s, size_t step, size_t rest,
		 unsigned char *want);
/* Puts the part for swap there again, after its pages came back. */
void scene_swap_out(const struct scene *s);

#endif
