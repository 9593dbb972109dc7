/* SPDX-License-Identifier: MIT */
/*
 * case_watch.c: what a range costs: to add, to remove and to look up.
 */
#include "bench.h"

#include <wtrack.h>

#include <stdio.h>
#include <string.h>

#define PIECE ((size_t)64 << 10)

struct entrant {
	struct contender c;
	struct laps add;
	struct laps remove;
};

static void for_each_piece(struct entrant *e, const struct span *span,
			   void (*op)(struct contender *, unsigned char *,
				      size_t),
			   struct laps *laps)
{
	size_t n = span_pieces(span), done = 0;

	for (size_t lap = 0; lap < LAPS; lap++) {
		size_t until = n * (lap + 1) / LAPS;
		uint64_t t0 = bench_now();

		for (; done < until; done++)
			op(&e->c, span->base + done * span->stride,
			   span->piece);
		bench_keep_min(&laps->best[lap], bench_now() - t0);
	}
}

static void take_turn(struct entrant *e, const struct span *span)
{
	const struct contender_ops *ops = e->c.ops;

	if (ops->enter)
		ops->enter(&e->c, span);
	for_each_piece(e, span, ops->attach, &e->add);
	for_each_piece(e, span, ops->detach, &e->remove);
	if (ops->leave)
		ops->leave(&e->c);
}

static void report_entrant(const struct bench *b, const struct entrant *e,
			   const struct entrant *peer, const char *layout,
			   size_t n)
{
	struct row row = { .backend = e->c.backend, .n = n, .unit = "ns" };
	char name[64];

	if (!e->c.opened)
		return;
	row.name = name;
	row.peer = peer && peer->c.opened ? peer->c.ops->name : NULL;
	snprintf(name, sizeof(name), "watch.add.%s", layout);
	row.value = laps_sum(&e->add) / (double)n;
	row.peer_value = row.peer ? laps_sum(&peer->add) / (double)n : 0;
	report_row(b, &row);
	snprintf(name, sizeof(name), "watch.remove.%s", layout);
	row.value = laps_sum(&e->remove) / (double)n;
	row.peer_value = row.peer ? laps_sum(&peer->remove) / (double)n : 0;
	report_row(b, &row);
}

/* `stride`: PIECE for ranges that touch, more for ranges that do not. */
static void add_and_remove(const struct bench *b, const char *layout,
			   size_t stride)
{
	enum {
		SCAN,
		RAW,
		MPROTECT,
		HAND,
		ALL,
		N
	};
	struct entrant e[N] = {
		[SCAN].c = { .ops = &contender_wtrack, .backend = "scan" },
		[RAW].c = { .ops = &contender_raw },
		[MPROTECT].c = { .ops = &contender_wtrack,
				 .backend = "mprotect" },
		[HAND].c = { .ops = &contender_mprotect },
		[ALL].c = { .ops = &contender_wtrack, .backend = "all" },
	};
	size_t n = b->quick ? 100 : b->exact ? 1000 : 10000;
	struct span whole = span_map(b, n * stride);
	struct span span = span_cut(whole, PIECE, stride);

	span_populate(b, &whole);
	for (size_t i = 0; i < N; i++)
		contender_open(b, &e[i].c, "watch");
	for (size_t round = 0; round < b->rounds; round++)
		for (size_t i = 0; i < N; i++)
			if (e[(round + i) % N].c.opened)
				take_turn(&e[(round + i) % N], &span);
	report_entrant(b, &e[SCAN], &e[RAW], layout, n);
	report_entrant(b, &e[MPROTECT], &e[HAND], layout, n);
	report_entrant(b, &e[ALL], NULL, layout, n);
	for (size_t i = 0; i < N; i++)
		contender_close(&e[i].c);
	span_unmap(b, &whole);
}

/* Looks up `calls` addresses of the span in an order without pattern. */
static uint64_t time_lookups(const struct contender *c, const struct span *span,
			     size_t calls)
{
	size_t n = span_pieces(span);
	uint64_t random = 0x9e3779b97f4a7c15u;
	uint64_t t0 = bench_now();
	int bad = 0;

	for (size_t i = 0; i < calls; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		bad |= wtrack_query(c->handle,
				    span->base + ((random >> 32) * n >> 32) *
							 span->stride,
				    NULL);
	}
	t0 = bench_now() - t0;
	if (bad != 0)
		bench_die("lookup[%s]: %s", c->backend, strerror(-bad));
	return t0;
}

/*
 * Watches each page by itself.  The library joins clean ranges that touch, so
 * these are dirty: the case is about a table of `n` entries.
 */
static void watch_pages(const struct contender *c, const struct span *span)
{
	struct wtrack_stats stats = { .size = sizeof(stats) };

	for (size_t off = 0; off < span->len; off += span->stride) {
		int rc = wtrack_watch(c->handle, span->base + off, span->piece,
				      WTRACK_WATCH_DIRTY);

		if (rc != 0)
			bench_die("wtrack_watch[%s]: %s", c->backend,
				  strerror(-rc));
	}
	wtrack_stats(c->handle, &stats);
	if (stats.ranges != span_pieces(span))
		bench_die("lookup[%s]: a table of %zu ranges has %llu",
			  c->backend, span_pieces(span),
			  (unsigned long long)stats.ranges);
}

static void lookup(const struct bench *b, const char *backend, size_t n)
{
	struct contender c = { .ops = &contender_wtrack, .backend = backend };
	struct row row = { .name = "watch.lookup", .n = n, .unit = "ns" };
	/* Two milliseconds or less: see LAPS. */
	const size_t calls = 20000;
	unsigned rounds = b->rounds * (b->quick || b->exact ? 1 : 50);
	struct span whole, span;
	uint64_t best = 0;

	if (!contender_open(b, &c, row.name))
		return;
	whole = span_map(b, n * b->page);
	span = span_cut(whole, b->page, b->page);
	watch_pages(&c, &span);
	for (unsigned round = 0; round < rounds; round++)
		bench_keep_min(&best, time_lookups(&c, &span, calls));
	contender_close(&c);
	row.backend = backend;
	row.value = (double)best / (double)calls;
	row.target = n == 100000 ? TARGET_VALUE : TARGET_NONE;
	row.limit = 150;
	report_row(b, &row);
	span_unmap(b, &whole);
}

void case_watch(const struct bench *b)
{
	static const size_t sizes[] = { 10, 1000, 100000 };

	add_and_remove(b, "adjacent", PIECE);
	add_and_remove(b, "apart", 2 * PIECE);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		lookup(b, "scan", sizes[i]);
		lookup(b, "all", sizes[i]);
	}
}
