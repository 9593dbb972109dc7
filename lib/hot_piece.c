/* SPDX-License-Identifier: MIT */
/*
 * hot_piece.c: what a look reported, decided on piece by piece.
 *
 * A piece is what lies in one page table: it is summed up, the policy names the
 * cheapest way to arm what is to be armed, and it is reported.
 */
#include "costs.h"
#include "heat.h"
#include "hot.h"

/* Dirty pages with the same byte. */
struct extent {
	uintptr_t lo;
	uintptr_t hi;
	uint64_t flags; /* of the run */
	uint8_t byte;
};

/* A run that says more than "written" is left to the room itself. */
static bool is_usual(uint64_t flags)
{
	return (flags & ~(uint64_t)WTRACK_RUN_COARSE) == WTRACK_RUN_WRITTEN;
}

bool wt_hot_emit(const struct wt_hot *h, uintptr_t lo, uintptr_t hi,
		 uint64_t flags, uint8_t byte)
{
	if (wt_byte_is_presumed(byte))
		flags = (flags & ~(uint64_t)WTRACK_RUN_WRITTEN) |
			WTRACK_RUN_PRESUMED;
	return !h->sink || wt_sink_add(h->sink, lo, hi, flags);
}

uintptr_t wt_hot_unit_end(const struct wt_hot *h, uintptr_t at, uintptr_t end)
{
	size_t grain = wt_range_grain(h->s->attr);
	uintptr_t next = (at & ~(grain - 1)) + grain;

	return next < end ? next : end;
}

struct wt_next wt_hot_next(const struct wt_hot *h, uint8_t byte, uintptr_t at)
{
	return wt_policy_next(&h->policy, byte, h->tick, at >> h->shift);
}

/* The first extent of [at, end); `i` is where to look for it. */
static bool next_extent(const struct wt_batch *b, size_t *i, uintptr_t at,
			uintptr_t end, struct extent *x)
{
	const struct wtrack_run *r;

	while (*i < b->n && b->run[*i].end <= at)
		++*i;
	r = &b->run[*i];
	if (*i == b->n || r->start >= end || at >= end)
		return false;
	x->lo = r->start > at ? r->start : at;
	x->hi = wt_heat_extent(x->lo, r->end < end ? r->end : end, &x->byte);
	x->flags = r->flags;
	return true;
}

static void add_to_piece(const struct wt_hot *h, struct wt_piece *p,
			 const struct extent *x, uintptr_t *first,
			 uintptr_t *last)
{
	uintptr_t end;

	for (uintptr_t at = x->lo; at < x->hi; at = end) {
		struct wt_next n = wt_hot_next(h, x->byte, at);

		end = wt_hot_unit_end(h, at, x->hi);
		if (!n.arm) {
			p->holes++;
			p->fixed |= x->byte == WT_BYTE_KEPT;
			continue;
		}
		if (!p->runs)
			*first = at;
		p->runs += at != *last;
		p->pages += (unsigned)((end - at) >> h->shift);
		*last = end;
	}
}

struct wt_piece wt_hot_sum_up(const struct wt_hot *h, const struct wt_batch *b,
			      uintptr_t at, uintptr_t *end)
{
	struct wt_piece p = { .stopped = h->flags & WTRACK_STOPPED,
			      .whole = h->be->whole,
			      .fixed = !h->sink };
	uintptr_t first = 0, last = 0;
	size_t i = b->i;
	struct extent x;

	while (next_extent(b, &i, at, *end, &x)) {
		if (!is_usual(x.flags) || wt_is_lazy(h->s, x.byte)) {
			*end = x.lo;
			break;
		}
		add_to_piece(h, &p, &x, &first, &last);
		at = x.hi;
	}
	p.span = (unsigned)((last - first) >> h->shift);
	return p;
}

static void settle_extent(struct wt_hot *h, const struct extent *x, bool defer)
{
	uintptr_t end;

	for (uintptr_t at = x->lo; at < x->hi; at = end) {
		struct wt_next n = wt_hot_next(h, x->byte, at);

		end = wt_hot_unit_end(h, at, x->hi);
		wt_hot_settle(h, at, end, x->byte, &n, defer);
	}
}

/* Reports [*at, end), run by run; false when the sink is full. [G6] */
static bool take_units(struct wt_hot *h, const struct wt_batch *b,
		       uintptr_t *at, uintptr_t end, bool defer)
{
	size_t i = b->i;
	struct extent x;

	while (next_extent(b, &i, *at, end, &x)) {
		*at = x.lo;
		/* Taken in another way. */
		if (!is_usual(x.flags) || wt_is_lazy(h->s, x.byte))
			return true;
		if (!wt_hot_emit(h, x.lo, x.hi, x.flags, x.byte))
			return false;
		if (h->flags & WTRACK_CLEAR)
			settle_extent(h, &x, defer);
		*at = x.hi;
	}
	*at = end;
	return true;
}

/* Where the pages from `at` on that are known to be armed end. */
static uintptr_t armed_until(const struct wt_hot *h, uintptr_t at,
			     uintptr_t end)
{
	while (at < end) {
		uint8_t byte;
		uintptr_t next = wt_heat_extent(at, end, &byte);

		/* What nobody cleared yet is armed too, unless it is lazy. */
		if (wt_is_lazy(h->s, byte) || (byte && !wt_byte_is_armed(byte)))
			break;
		at = next;
	}
	return at;
}

/*
 * A look that ended in the midst of a block: all of it is cleared in one if all
 * of it can be, or its page table would be flushed once more.
 */
static uintptr_t whole_piece(const struct wt_hot *h, const struct wt_batch *b,
			     uintptr_t end)
{
	uintptr_t limit = ((end - 1) | (wt_heat_block() - 1)) + 1;

	if (end != b->reached)
		return end;
	return armed_until(h, end, limit < h->s->end ? limit : h->s->end);
}

/* Whether the block of `at` lies in the stretch, all armed. */
static bool may_be_fused(const struct wt_hot *h, uintptr_t at)
{
	uintptr_t start = at & ~(wt_heat_block() - 1);
	uintptr_t end = start + wt_heat_block();

	return start >= h->s->start && end <= h->s->end && end > start &&
	       armed_until(h, start, end) == end;
}

/* The next look would find the same, and be for nothing. */
static void fuse_next_time(const struct wt_hot *h, struct wt_heat *heat,
			   const struct wt_piece *p, uintptr_t at)
{
	if (p->runs && h->sink && wt_policy_fuses(&h->policy, p, h->costs) &&
	    may_be_fused(h, at))
		__atomic_store_n(&heat->fused, 1, __ATOMIC_RELAXED);
}

static bool take_piece(struct wt_hot *h, const struct wt_batch *b,
		       uintptr_t *at)
{
	uintptr_t end = (*at | (wt_heat_block() - 1)) + 1;
	struct wt_heat *heat = wt_heat_at(*at);
	struct wt_piece p;
	enum wt_plan plan;
	bool room;

	if (!(h->flags & WTRACK_CLEAR))
		return take_units(h, b, at, b->reached, false);
	if (!end || end > b->reached)
		end = b->reached;
	p = wt_hot_sum_up(h, b, *at, &end);
	if (h->be->whole)
		return take_units(h, b, at, end, h->put_off);
	p.deferred = wt_heat_deferred(heat);
	plan = wt_policy_plan(&h->policy, &p, h->costs);
	if (plan != WT_PLAN_NONE)
		wt_heat_count(heat, plan == WT_PLAN_DEFER);
	if (plan == WT_PLAN_FUSED || plan == WT_PLAN_ALL)
		room = wt_hot_fuse(h, at,
				   p.holes ? end : whole_piece(h, b, end));
	else
		room = take_units(h, b, at, end, plan == WT_PLAN_DEFER);
	if (room)
		fuse_next_time(h, heat, &p, end - 1);
	return room;
}

/* The room reports and clears by itself; what it says is passed on. */
static bool take_unusual(struct wt_hot *h, uintptr_t *at, uintptr_t end)
{
	struct wt_span s = { *at, end, h->s->attr, h->s->mapped };

	if (!(h->flags & WTRACK_CLEAR))
		h->be->collect(h->t, &s, at, h->sink, h->flags);
	else
		wt_hot_fuse(h, at, end);
	return *at == end;
}

bool wt_hot_take(struct wt_hot *h, struct wt_batch *b, uintptr_t *at)
{
	struct extent x;

	while (next_extent(b, &b->i, *at, b->reached, &x)) {
		bool room;

		*at = x.lo;
		if (!is_usual(x.flags))
			room = take_unusual(h, at, b->run[b->i].end);
		else if (wt_is_lazy(h->s, x.byte))
			room = wt_hot_take_lazy(h, at, x.hi);
		else
			room = take_piece(h, b, at);
		if (!room)
			return false;
	}
	if (*at < b->reached)
		*at = b->reached;
	return true;
}
