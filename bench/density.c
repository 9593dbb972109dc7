/* SPDX-License-Identifier: MIT */
/*
 * density.c: times collections over memory written more or less densely.
 *
 * The two sides have a mapping each, for one page cannot be registered twice,
 * and swap them half-way.  In a round both write, and then each collection of
 * the one is followed at once by the same of the other: what disturbs the
 * machine lasts longer than a collection and meets both.  Every answer is
 * compared with what was written, so nobody can win by being wrong.
 */
#include "bench.h"

#include <stdio.h>

/* In each round; a read changes nothing and can be had again. */
#define READS 10

static size_t write_both(const struct bench *b, const struct duel *duel,
			 size_t first, size_t step)
{
	span_write(b, &duel->side[first].span, step);
	return span_write(b, &duel->side[!first].span, step);
}

static void time_both(struct duel *duel, size_t first, size_t density,
		      bool clear, size_t expect)
{
	for (size_t i = 0; i < 2; i++) {
		struct side *s = &duel->side[i ? !first : first];
		uint64_t ns = contender_timed_collect(
			s->contender, &s->span, clear, expect, duel->name);

		bench_keep_min(&s->best[clear][density], ns);
	}
}

static void expect_clean(const struct duel *duel)
{
	for (size_t i = 0; i < 2; i++)
		contender_timed_collect(duel->side[i].contender,
					&duel->side[i].span, false, 0,
					duel->name);
}

static void measure_density(const struct bench *b, struct duel *duel,
			    size_t first, size_t density)
{
	const struct density *d = &duel->densities[density];
	size_t n = write_both(b, duel, first, d->step);

	for (unsigned i = 0; i < READS; i++)
		time_both(duel, (first + i) % 2, density, false, n);
	for (unsigned i = 0; i < d->clearings; i++) {
		/* The first time it writes what is dirty already. */
		write_both(b, duel, (first + i) % 2, d->step);
		time_both(duel, (first + i) % 2, density, true, n);
	}
	expect_clean(duel);
}

/*
 * Attaching in small pieces leaves address translations behind that the first
 * full flush pays for, most of all in a virtual machine.  That is part of the
 * attaching, so one collection is not counted.
 */
static void attach(const struct bench *b, const struct duel *duel,
		   struct side *s, struct span span)
{
	s->span = s->piece ? span_cut(span, s->piece, s->stride) : span;
	contender_attach(s->contender, &s->span);
	contender_timed_collect(
		s->contender, &s->span, true,
		span_write(b, &s->span, duel->densities[1].step), duel->name);
}

void density_run(const struct bench *b, struct duel *duel, size_t len)
{
	struct span span[2] = { span_map(b, len), span_map(b, len) };

	span_populate(b, &span[0]);
	span_populate(b, &span[1]);
	for (size_t half = 0; half < 2; half++) {
		attach(b, duel, &duel->side[0], span[half]);
		attach(b, duel, &duel->side[1], span[!half]);
		for (size_t round = 0; round < b->rounds / 2; round++)
			for (size_t i = 0; i < duel->ndensities; i++)
				measure_density(b, duel, round % 2, i);
		contender_detach(duel->side[0].contender, &duel->side[0].span);
		contender_detach(duel->side[1].contender, &duel->side[1].span);
	}
	span_unmap(b, &span[0]);
	span_unmap(b, &span[1]);
}

void density_report(const struct bench *b, const struct duel *duel,
		    struct row row, double per)
{
	static const char *const modes[MODES] = { "get", "get-clear" };
	char name[64];

	row.name = name;
	for (size_t m = 0; m < MODES; m++)
		for (size_t i = 0; i < duel->ndensities; i++) {
			snprintf(name, sizeof(name), "%s.%s.%s", duel->name,
				 modes[m], duel->densities[i].label);
			row.value = (double)duel->side[0].best[m][i] / per;
			row.peer_value = (double)duel->side[1].best[m][i] / per;
			report_row(b, &row);
		}
}
