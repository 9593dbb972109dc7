/* SPDX-License-Identifier: MIT */
/*
 * density.c: times collections over memory written more or less densely.
 *
 * A turn attaches, and for each density writes, reads the dirty pages and then
 * reads and clears them.  Every answer is compared with what was written, so a
 * contender cannot win by being wrong.
 */
#include "bench.h"

#include <stdio.h>

/* A read changes nothing and is cheap, and so is a clearing that finds little:
 * more than one for each round finds the undisturbed one sooner. */
#define READS 20

static void measure_density(const struct bench *b, const char *what,
			    struct turn *turn, size_t index,
			    const struct density *density)
{
	struct contender *c = turn->contender;
	const struct span *span = &turn->span;
	size_t n = span_write(b, span, density->step);

	for (unsigned i = 0; i < READS; i++)
		bench_keep_min(
			&turn->best[MODE_GET][index],
			contender_timed_collect(c, span, false, n, what));
	for (unsigned i = 0; i < density->clearings; i++) {
		span_write(b, span, density->step);
		bench_keep_min(&turn->best[MODE_GET_CLEAR][index],
			       contender_timed_collect(c, span, true, n, what));
	}
	contender_timed_collect(c, span, false, 0, what);
}

/* Attaching in small pieces leaves address translations behind that the first
 * full flush pays for, most of all in a virtual machine.  That is part of the
 * attaching, so one collection is not timed. */
static void warm_up(const struct bench *b, const char *what, struct turn *turn)
{
	size_t n = span_write(b, &turn->span, 64);

	contender_timed_collect(turn->contender, &turn->span, true, n, what);
}

static void take_turn(const struct bench *b, const char *what,
		      struct turn *turn, const struct density *densities,
		      size_t ndensities)
{
	contender_attach(turn->contender, &turn->span);
	warm_up(b, what, turn);
	for (size_t i = 0; i < ndensities; i++)
		measure_density(b, what, turn, i, &densities[i]);
	contender_detach(turn->contender, &turn->span);
}

void density_run(const struct bench *b, const char *what, struct turn *turns,
		 size_t nturns, const struct density *densities,
		 size_t ndensities)
{
	for (size_t round = 0; round < b->rounds; round++)
		for (size_t i = 0; i < nturns; i++)
			take_turn(b, what, &turns[(round + i) % nturns],
				  densities, ndensities);
}

void density_report(const struct bench *b, struct row row,
		    const struct turn *mine, const struct turn *other,
		    const struct density *densities, size_t ndensities,
		    double per)
{
	static const char *const modes[MODES] = { "get", "get-clear" };
	const char *what = row.name;
	char name[64];

	row.name = name;
	for (size_t m = 0; m < MODES; m++)
		for (size_t i = 0; i < ndensities; i++) {
			snprintf(name, sizeof(name), "%s.%s.%s", what, modes[m],
				 densities[i].label);
			row.value = (double)mine->best[m][i] / per;
			row.peer_value = (double)other->best[m][i] / per;
			report_row(b, &row);
		}
}
