/* SPDX-License-Identifier: MIT */
/*
 * report.c: prints one row, as a line of a table or as a JSON object.
 *
 * The JSON objects have exactly the fields name, backend, n, value, unit,
 * peer and ratio; peer and ratio are null for what was measured alone, and
 * value, too, for what is not available here.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>

static double row_ratio(const struct row *row)
{
	return row->value / row->peer_value;
}

static void print_json(const struct row *row)
{
	printf("{\"name\":\"%s\",\"backend\":\"%s\",\"n\":%zu,", row->name,
	       row->backend, row->n);
	if (row->lacks)
		printf("\"value\":null");
	else
		printf("\"value\":%.3f", row->value);
	printf(",\"unit\":\"%s\",", row->unit);
	if (row->peer)
		printf("\"peer\":\"%s\",\"ratio\":%.4f}\n", row->peer,
		       row_ratio(row));
	else
		printf("\"peer\":null,\"ratio\":null}\n");
}

static void print_target(const struct row *row)
{
	double got;

	if (row->target == TARGET_NONE)
		return;
	got = row->target == TARGET_RATIO ? row_ratio(row) : row->value;
	printf("  <= %g %s", row->limit, got <= row->limit ? "met" : "MISSED");
}

static void print_human(const struct row *row)
{
	static bool header;

	if (!header)
		printf("%-26s %-8s %7s %11s %-5s %-11s %11s %6s  target\n",
		       "name", "backend", "n", "value", "unit", "peer",
		       "peer value", "ratio");
	header = true;
	printf("%-26s %-8s %7zu ", row->name, row->backend, row->n);
	if (row->lacks) {
		printf("without %s, not available here (%s)\n", row->lacks,
		       strerror(-row->error));
		return;
	}
	printf("%11.1f %-5s", row->value, row->unit);
	if (row->peer)
		printf(" %-11s %11.1f %6.3f", row->peer, row->peer_value,
		       row_ratio(row));
	else
		printf(" %-11s %11s %6s", "-", "-", "-");
	print_target(row);
	printf("\n");
}

void report_row(const struct bench *b, const struct row *row)
{
	if (b->json)
		print_json(row);
	else
		print_human(row);
	fflush(stdout);
}
