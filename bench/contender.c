/* SPDX-License-Identifier: MIT */
/*
 * contender.c: what all contenders go through alike.
 */
#include "bench.h"

#include <string.h>

uint64_t runs_buffer[3 * RUNS_MAX];

const char *contender_label(const struct contender *c)
{
	return c->backend ? c->backend : c->ops->name;
}

bool contender_open(const struct bench *b, struct contender *c,
		    const char *what)
{
	int rc;

	c->bench = b;
	rc = c->ops->open(c);
	c->opened = rc == 0;
	c->error = rc;
	if (rc != 0)
		bench_note("%s: without %s, not available here (%s)", what,
			   contender_label(c), strerror(-rc));
	return c->opened;
}

void contender_close(struct contender *c)
{
	if (c->opened && c->ops->close)
		c->ops->close(c);
	c->opened = false;
}

void contender_attach(struct contender *c, const struct span *span)
{
	if (c->ops->enter)
		c->ops->enter(c, span);
	for (size_t off = 0; off < span->len; off += span->stride)
		c->ops->attach(c, span->base + off, span->piece);
}

void contender_detach(struct contender *c, const struct span *span)
{
	if (span_is_whole(span))
		c->ops->detach(c, span->base, span->len);
	else
		for (size_t off = 0; off < span->len; off += span->stride)
			c->ops->detach(c, span->base + off, span->piece);
	if (c->ops->leave)
		c->ops->leave(c);
}

uint64_t contender_timed_collect(struct contender *c, const struct span *span,
				 bool clear, size_t expect, const char *what)
{
	uint64_t t0 = bench_now();
	size_t pages = c->ops->collect(c, span, clear);
	uint64_t t1 = bench_now();

	if (pages != expect)
		bench_die("%s: %s reported %zu pages, %zu were written", what,
			  contender_label(c), pages, expect);
	return t1 - t0;
}
