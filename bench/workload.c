/* SPDX-License-Identifier: MIT */
/*
 * workload.c: chooses the pages that a program writes in each epoch, and
 * writes them.
 *
 * No page is chosen twice in an epoch.
 */
#include "epochs.h"

#include <stdlib.h>
#include <string.h>

/* A number below n, of a sequence that is always the same. */
static uint32_t draw(struct workload *w, size_t n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)((w->random >> 32) * n >> 32);
}

static uint32_t draw_cold(struct workload *w)
{
	uint32_t page;

	do
		page = draw(w, w->pages);
	while (w->is_hot[page]);
	w->is_hot[page] = 1;
	return page;
}

static uint32_t *new_table(size_t n)
{
	uint32_t *table = calloc(n, sizeof(*table));

	if (!table)
		bench_die("no memory for a workload");
	return table;
}

void workload_start(struct workload *w, const struct habit *habit, size_t pages)
{
	*w = (struct workload){
		.habit = habit,
		.pages = pages,
		.random = 0x9e3779b97f4a7c15u,
		.list = new_table(pages),
		.hot = new_table(habit->hot + 1),
		.is_hot = new_table(pages),
		.written = new_table(pages),
	};
	for (size_t i = 0; i < habit->hot; i++)
		w->hot[i] = draw_cold(w);
}

void workload_end(struct workload *w)
{
	free(w->list);
	free(w->hot);
	free(w->is_hot);
	free(w->written);
}

/* None of those that give way comes back at once. */
static void replace(struct workload *w)
{
	const struct habit *h = w->habit;
	uint32_t *gone = w->list;

	for (size_t i = 0; i < h->replaced; i++) {
		gone[i] = w->hot[w->oldest];
		w->hot[w->oldest] = draw_cold(w);
		w->oldest = (w->oldest + 1) % h->hot;
	}
	for (size_t i = 0; i < h->replaced; i++)
		w->is_hot[gone[i]] = 0;
}

static bool add(struct workload *w, uint32_t page)
{
	if (w->written[page] == w->epoch)
		return false;
	w->written[page] = w->epoch;
	w->list[w->n++] = page;
	return true;
}

/* An odd factor leads through all pages of a block before one comes again. */
static void add_blocks(struct workload *w, size_t block)
{
	for (size_t at = 0, i = 0; at < w->pages; at += block, i++)
		add(w, (uint32_t)(at + (w->epoch + i) * 167 % block));
}

void workload_next(struct workload *w)
{
	const struct habit *h = w->habit;

	if (h->every && w->epoch && w->epoch % h->every == 0)
		replace(w);
	w->epoch++;
	w->n = 0;
	for (size_t i = 0; i < h->hot; i++)
		add(w, w->hot[i]);
	for (size_t i = 0; i < h->others; i++)
		while (!add(w, draw(w, w->pages)))
			;
	for (size_t i = 0; i < h->row; i++)
		add(w, (uint32_t)((w->epoch * h->row + i) % w->pages));
	if (h->block)
		add_blocks(w, h->block);
}

/* Not all at one offset: such bytes share a small part of the cache. */
void workload_write(const struct bench *b, const struct workload *w,
		    const struct span *span)
{
	volatile unsigned char *base = span->base;
	size_t mask = b->page - 1;

	for (size_t i = 0; i < w->n; i++) {
		size_t page = w->list[i];

		base[page * b->page + (page * 64 & mask)] =
			(unsigned char)w->epoch;
	}
}
