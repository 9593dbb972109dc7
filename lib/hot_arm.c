/* SPDX-License-Identifier: MIT */
/* hot_arm.c: arms what the policy says, in as few calls as it can. */
#include "costs.h"
#include "heat.h"
#include "hot.h"

#include <errno.h>

/* What has come to touch and to be alike is one run. */
static void join_runs(struct wt_sink *sink, size_t from)
{
	size_t to = from;

	for (size_t i = from + 1; i < sink->n; i++) {
		struct wtrack_run *r = &sink->runs[i];

		if (sink->runs[to].end == r->start &&
		    sink->runs[to].flags == r->flags)
			sink->runs[to].end = r->end;
		else
			sink->runs[++to] = *r;
	}
	if (sink->n > from)
		sink->n = to + 1;
}

/* What could not be armed stays dirty, and its run says so. [G3] */
static void arm_failed(struct wt_hot *h, int rc)
{
	uint64_t why = rc == -ENOENT || !h->s->mapped ? WTRACK_RUN_LOST
						      : WTRACK_RUN_DEGRADED;
	size_t i = h->sink ? h->sink->n : 0;

	if (!h->rc)
		h->rc = rc;
	wt_heat_set(h->lo, h->hi, WT_BYTE_DEFERRED);
	wt_count(why == WTRACK_RUN_LOST ? &h->t->count.lost
					: &h->t->count.degraded,
		 1);
	while (i-- && h->sink->runs[i].end > h->lo)
		if (h->sink->runs[i].start < h->hi)
			h->sink->runs[i].flags |= why;
	if (h->sink)
		join_runs(h->sink, i == SIZE_MAX ? 0 : i);
}

/*
 * Of what is not known to be written the byte says so until it is armed: who
 * looks meanwhile must not be told that it was.  [G2]
 */
static bool is_doubtful(const struct wt_hot *h, uint8_t byte)
{
	return wt_byte_is_presumed(byte) || wt_is_lazy(h->s, byte);
}

static void settle_doubtful(struct wt_hot *h)
{
	uintptr_t end, next;

	for (uintptr_t at = h->lo; at < h->hi; at = end) {
		uint8_t byte;

		end = wt_heat_extent(at, h->hi, &byte);
		for (; is_doubtful(h, byte) && at < end; at = next) {
			next = wt_hot_unit_end(h, at, end);
			wt_heat_set(at, next, wt_hot_next(h, byte, at).byte);
		}
	}
}

void wt_hot_flush(struct wt_hot *h)
{
	const struct wt_span s = { h->lo, h->hi, h->s->attr, true };
	int rc;

	if (h->lo == h->hi)
		return;
	rc = h->be->arm(h->t, &s, h->flags);
	wt_count(h->wide ? &h->t->hot.arms_wide : &h->t->hot.arms_run, 1);
	if (rc)
		arm_failed(h, rc);
	else
		settle_doubtful(h);
	h->lo = h->hi = 0;
	h->wide = false;
}

/*
 * Whether [lo, hi), in which nothing was reported, is to be armed along: it is
 * armed already, and nobody writes, so that it may be.
 */
static bool goes_along(const struct wt_hot *h, uintptr_t lo, uintptr_t hi)
{
	uint64_t pages = (hi - lo) >> wt_page_shift();

	if (!(h->flags & WTRACK_STOPPED) || !h->s->mapped ||
	    pages * h->costs->arm_page >= h->costs->arm)
		return false;
	while (lo < hi) {
		uint8_t byte;
		uintptr_t next = wt_heat_extent(lo, hi, &byte);

		if (wt_is_lazy(h->s, byte) || wt_byte_is_presumed(byte))
			return false;
		lo = next;
	}
	return true;
}

void wt_hot_queue(struct wt_hot *h, uintptr_t lo, uintptr_t hi)
{
	if (h->lo < h->hi && h->hi < lo && goes_along(h, h->hi, lo)) {
		h->hi = hi;
		h->wide = true;
		return;
	}
	if (h->lo == h->hi || h->hi != lo) {
		wt_hot_flush(h);
		h->lo = lo;
	}
	h->hi = hi;
}

void wt_hot_settle(struct wt_hot *h, uintptr_t lo, uintptr_t hi, uint8_t byte,
		   const struct wt_next *next, bool defer)
{
	bool is_hot = (byte & WT_BYTE_KIND) == WT_BYTE_HOT;
	bool arm = next->arm && !defer;
	uint8_t to = arm || !next->arm ? next->byte
		     : is_hot          ? byte
				       : WT_BYTE_DEFERRED;

	h->count.presumed += wt_byte_is_presumed(byte);
	h->count.proved += next->proved;
	h->count.deferred += next->arm && defer;
	h->count.avoided += !arm;
	h->count.rechecks += arm && wt_byte_is_probe(next->byte);
	if (to != byte && !(arm && is_doubtful(h, byte)))
		wt_heat_set(lo, hi, to);
	if (arm)
		wt_hot_queue(h, lo, hi);
}

/* ---- a look and a clearing in one ---- */

/*
 * The byte of a page that was armed whatever the policy said: if it is hot, to
 * be re-checked.
 */
static uint8_t armed_byte(const struct wt_hot *h, const struct wt_next *n)
{
	unsigned level = n->byte >> 3 & 7;

	if (n->arm)
		return n->byte;
	return (uint8_t)(WT_BYTE_PROBE | level << 3 | (h->tick & 7));
}

/* A unit of a fused run: its byte after, and what is to be counted of it. */
static uint8_t settle_unit(struct wt_hot *h, uint8_t byte, uintptr_t at,
			   struct wt_piece *p)
{
	struct wt_next n = wt_hot_next(h, byte, at);

	p->holes += !n.arm;
	n.byte = armed_byte(h, &n);
	h->count.presumed += wt_byte_is_presumed(byte);
	h->count.proved += n.proved;
	h->count.rechecks += wt_byte_is_probe(n.byte);
	return n.byte;
}

/* The room armed what was advised to stay un-armed. */
static uint8_t unarm(const struct wt_hot *h, uintptr_t lo, uintptr_t hi)
{
	const struct wt_span s = { lo, hi, h->s->attr, h->s->mapped };

	return h->be->mark(h->t, &s) ? WT_BYTE_CLEAN : WT_BYTE_KEPT;
}

/*
 * A part of a run, in one block; adds it to the piece that the block is.
 * Returns whether any page of it was only presumed to be dirty.
 */
static bool settle_part(struct wt_hot *h, uintptr_t lo, uintptr_t hi,
			struct wt_piece *p)
{
	uint8_t *byte = wt_heat_bytes_at(lo);
	unsigned holes = p->holes, units = 0;
	bool presumed = false;

	for (; lo < hi; units++) {
		uintptr_t next = wt_hot_unit_end(h, lo, hi);
		uint8_t was = __atomic_load_n(byte, __ATOMIC_RELAXED), to;

		presumed |= wt_byte_is_presumed(was);
		to = was == WT_BYTE_KEPT ? unarm(h, lo, next)
					 : settle_unit(h, was, lo, p);
		for (; lo < next; lo += (uintptr_t)1 << h->shift)
			__atomic_store_n(byte++, to, __ATOMIC_RELAXED);
	}
	/* What is not hot would be armed by itself, without a fused call. */
	if (p->holes - holes < units) {
		p->runs++;
		p->pages += units - (p->holes - holes);
	}
	return presumed;
}

/*
 * A block where to fuse is the cheapest way, again and again, is fused without
 * a look before; until so many of its pages would be hot that it is not.
 */
static void settle_block(struct wt_hot *h, uintptr_t addr,
			 const struct wt_piece *p)
{
	struct wt_heat *heat = wt_heat_at(addr);

	if ((p->runs || p->holes) && !wt_policy_fuses(&h->policy, p, h->costs))
		__atomic_store_n(&heat->fused, 0, __ATOMIC_RELAXED);
}

/* The runs from index `i` on, as far as they lie in [from, to). */
static void settle_fused(struct wt_hot *h, size_t i, uintptr_t from,
			 uintptr_t to)
{
	struct wt_piece p = { .stopped = h->flags & WTRACK_STOPPED };
	uintptr_t block = from & ~(wt_heat_block() - 1);
	size_t first = i ? i - 1 : 0;
	bool changed = false;

	for (; i < h->sink->n; i++) {
		struct wtrack_run *r = &h->sink->runs[i];
		uintptr_t lo = r->start > from ? r->start : from, hi;
		bool presumed = false;

		for (; lo < r->end && lo < to; lo = hi) {
			uintptr_t in = lo & ~(wt_heat_block() - 1);

			if (in != block) {
				settle_block(h, block, &p);
				p = (struct wt_piece){ .stopped = p.stopped };
				block = in;
			}
			hi = in + wt_heat_block();
			if (!hi || hi > r->end)
				hi = r->end;
			presumed |= settle_part(h, lo, hi, &p);
		}
		if (presumed)
			r->flags = (r->flags & ~(uint64_t)WTRACK_RUN_WRITTEN) |
				   WTRACK_RUN_PRESUMED;
		changed |= presumed;
	}
	settle_block(h, block, &p);
	if (changed)
		join_runs(h->sink, first);
}

bool wt_hot_fuse(struct wt_hot *h, uintptr_t *at, uintptr_t end)
{
	struct wt_span s = { *at, end, h->s->attr, h->s->mapped };
	struct wt_sink *sink = h->sink;

	wt_hot_flush(h);
	/* Again where runs were joined: a short answer means the end. */
	do {
		size_t i = sink->n ? sink->n - 1 : 0;
		uintptr_t from = *at;

		h->be->collect(h->t, &s, at, sink, h->flags);
		wt_count(&h->t->hot.arms_fused, 1);
		settle_fused(h, i, from, *at);
	} while (*at < end && sink->n < sink->cap);
	return *at == end;
}
