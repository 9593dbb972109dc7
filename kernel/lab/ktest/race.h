/* SPDX-License-Identifier: MIT */
/*
 * race.h: stores in one thread while another one scans, and perhaps a third one
 * disturbs the same memory; no store may be lost.
 */
#ifndef KTEST_RACE_H
#define KTEST_RACE_H

#include "ktest.h"

struct race {
	char *start;
	size_t pages;
	size_t room; /* runs a scan may report in one call */
	/* What the third thread does again and again, or NULL. */
	void (*disturb)(const struct race *race, struct dice *dice);
	unsigned epochs; /* each: scans, then a standstill to compare in */
};

void run_race(const struct race *race);

#endif
