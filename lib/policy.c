/* SPDX-License-Identifier: MIT */
/* policy.c: the decisions of policy.h, without a kernel. */
#include "policy.h"
#include "options.h"
#include "region.h"

#include <errno.h>
#include <string.h>

/* ---- parameters ---- */

/*
 * What won in measurements: for who pays 1-2 us for a false page, to be hot
 * at once and for long; for who pays more, to be sure first and to ask often.
 */
static const struct wt_policy defaults[] = {
	[WTRACK_POLICY_EXACT] = { WTRACK_POLICY_EXACT, 0, 0, 0, 0 },
	[WTRACK_POLICY_RESCAN] = { WTRACK_POLICY_RESCAN, 1, 3, 6, 1500 },
	[WTRACK_POLICY_COPY] = { WTRACK_POLICY_COPY, 2, 1, 4, 4000 },
};

/* Bounds of what an attribute and a byte can hold. */
#define AFTER_MOST 4
#define FROM_MOST  1024
#define LEVELS     7
#define COST_SHIFT 4 /* page_ns is kept in units of 16 ns, 16 bits of them */
#define COST_MOST  (0xffffu << COST_SHIFT)

static bool is_power(uint32_t n)
{
	return n && !(n & (n - 1));
}

static unsigned log2_of(uint32_t n)
{
	return (unsigned)__builtin_ctz(n);
}

static int take(const struct wtrack_policy *in, struct wt_policy *out)
{
	if (in->after > AFTER_MOST || in->page_ns > COST_MOST ||
	    (in->from &&
	     (!is_power(in->from) || in->from < 2 || in->from > FROM_MOST)) ||
	    (in->to && !is_power(in->to)))
		return -EINVAL;
	if (in->after)
		out->after = in->after;
	if (in->from)
		out->from = log2_of(in->from);
	if (in->to)
		out->to = log2_of(in->to);
	else if (out->to < out->from)
		out->to = out->from;
	if (in->page_ns)
		out->page_ns = in->page_ns;
	return out->to < out->from || out->to > out->from + LEVELS ? -EINVAL
								   : 0;
}

int wt_policy_read(const struct wtrack_policy *in, struct wt_policy *out)
{
	struct wtrack_policy p;
	int rc = wt_struct_take(in, &p, sizeof(p));

	if (rc)
		return rc;
	if (p.kind > WTRACK_POLICY_COPY)
		return -EINVAL;
	*out = defaults[p.kind];
	if (p.kind != WTRACK_POLICY_EXACT)
		return take(&p, out);
	return p.after || p.from || p.to || p.page_ns ? -EINVAL : 0;
}

uint64_t wt_policy_attr(const struct wt_policy *p)
{
	return (uint64_t)p->kind << WT_POLICY_KIND |
	       (uint64_t)p->after << WT_POLICY_AFTER |
	       (uint64_t)p->from << WT_POLICY_FROM |
	       (uint64_t)p->to << WT_POLICY_TO |
	       /* Up, since 0 would be no price, and no putting off. */
	       (uint64_t)((p->page_ns + (1u << COST_SHIFT) - 1) >> COST_SHIFT)
		       << WT_POLICY_COST;
}

struct wt_policy wt_policy_of(uint64_t attr)
{
	const struct wt_policy p = {
		attr >> WT_POLICY_KIND & 3,
		attr >> WT_POLICY_AFTER & 7,
		attr >> WT_POLICY_FROM & 15,
		attr >> WT_POLICY_TO & 31,
		(uint32_t)(attr >> WT_POLICY_COST & 0xffff) << COST_SHIFT,
	};

	return p;
}

/* ---- pages ---- */

/* Spread evenly, and the same each time: a decision can be asked twice. */
static uint32_t mix(uintptr_t page, unsigned tick)
{
	uint64_t x = ((uint64_t)page << 20 | (tick & 0xfffff)) + 1;

	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return (uint32_t)(x >> 32);
}

/* Epochs at this level, as a power of two. */
static unsigned wait_shift(const struct wt_policy *p, unsigned level)
{
	return p->from + level < p->to ? p->from + level : p->to;
}

/* A wait is counted in eighths of it, at most 8, and spread by half of it. */
static uint8_t hot(const struct wt_policy *p, unsigned level, unsigned tick,
		   uintptr_t page)
{
	unsigned wait = 1u << wait_shift(p, level);
	uint32_t dice = mix(page, tick);
	unsigned left =
		wait < 8 ? wait / 2 - 1 + dice % (wait / 2 + 1) : 4 + dice % 4;

	return (uint8_t)(WT_BYTE_HOT | level << 3 | left);
}

static uint8_t cold(unsigned streak, unsigned tick)
{
	return (uint8_t)(WT_BYTE_COLD | (streak - 1) << 4 | (tick & 15));
}

/* Dirty in `streak` epochs running, this one included. */
static struct wt_next streaked(const struct wt_policy *p, unsigned streak,
			       unsigned tick, uintptr_t page)
{
	struct wt_next n = { 0, true, false };

	if (streak > AFTER_MOST)
		streak = AFTER_MOST;
	n.arm = !p->after || streak < p->after;
	n.byte = n.arm ? cold(streak, tick) : hot(p, 0, tick, page);
	return n;
}

static struct wt_next next_of_hot(const struct wt_policy *p, uint8_t byte,
				  unsigned tick, uintptr_t page)
{
	unsigned level = byte >> 3 & 7, left = byte & 7;
	unsigned shift = wait_shift(p, level);
	unsigned unit = shift < 3 ? 1 : 1u << (shift - 3);
	struct wt_next n = { byte, false, false };

	if (p->after && unit > 1 && (tick + mix(page, 0)) % unit)
		return n;
	if (p->after && left) {
		n.byte = byte - 1;
		return n;
	}
	n.arm = true;
	n.byte = (uint8_t)(WT_BYTE_PROBE | level << 3 | (tick & 7));
	return n;
}

static struct wt_next next_of_probe(const struct wt_policy *p, uint8_t byte,
				    unsigned tick, uintptr_t page)
{
	unsigned level = byte >> 3 & 7;
	struct wt_next n = { 0, false, true };

	if ((byte & 7) != ((tick - 1) & 7) || !p->after)
		return streaked(p, 1, tick, page);
	level += level < LEVELS;
	n.byte = hot(p, level, tick, page);
	return n;
}

struct wt_next wt_policy_next(const struct wt_policy *p, uint8_t byte,
			      unsigned tick, uintptr_t page)
{
	struct wt_next kept = { byte, false, false };

	switch (byte & WT_BYTE_KIND) {
	case WT_BYTE_HOT:
		return next_of_hot(p, byte, tick, page);
	case WT_BYTE_PROBE:
		return next_of_probe(p, byte, tick, page);
	case WT_BYTE_COLD:
		if ((byte & 15) == ((tick - 1) & 15))
			return streaked(p, (byte >> 4 & 3) + 2, tick, page);
		return streaked(p, 1, tick, page);
	default:
		return byte == WT_BYTE_KEPT ? kept : streaked(p, 1, tick, page);
	}
}

/* Fewer re-checks than this say nothing. */
#define CAUTION_CHECKS 16
/* So many epochs pass before it is tried again with less. */
#define CAUTION_EPOCHS 64

unsigned wt_policy_caution(unsigned caution, uint64_t rechecks, uint64_t dirty,
			   uint64_t since)
{
	/* Each clean one has cost an arming and some false pages. */
	if (rechecks >= CAUTION_CHECKS && dirty < rechecks / 4)
		return caution < WT_CAUTION_MOST ? caution + 1 : caution;
	return caution && since >= CAUTION_EPOCHS ? caution - 1 : caution;
}

void wt_policy_be_cautious(struct wt_policy *p, unsigned caution)
{
	if (p->after)
		p->after += caution;
	if (p->after > AFTER_MOST)
		p->after = AFTER_MOST;
}

/* ---- pieces ---- */

/* Putting off for longer than this did not pay in any measurement. */
#define DEFER_MOST 3
/* Of a room as a whole: what the block's count of epochs holds (heat.h). */
#define DEFER_WHOLE_MOST 255

/* Run by run; over clean pages too, where nobody writes. */
static uint64_t arming_cost(const struct wt_piece *p, const struct wt_costs *c,
			    uint64_t runs, uint64_t pages)
{
	uint64_t each = runs * c->arm + (pages - runs) * c->arm_page;
	uint64_t wide = c->arm + (uint64_t)p->span * c->arm_page;

	return p->stopped && runs && !p->holes && wide < each ? wide : each;
}

/* Hot pages that are armed fault in the epochs until they are hot again. */
static uint64_t fused_cost(const struct wt_piece *p, const struct wt_costs *c)
{
	return c->fused + (uint64_t)p->holes * c->fault;
}

/* A piece as it would be after `epochs` at the rate so far. */
static uint64_t clearing_cost(const struct wt_piece *p,
			      const struct wt_costs *c, unsigned epochs,
			      enum wt_plan *how)
{
	uint64_t runs = (uint64_t)p->runs * epochs / (p->deferred + 1);
	uint64_t pages = (uint64_t)p->pages * epochs / (p->deferred + 1);
	uint64_t each = arming_cost(p, c, runs, pages);
	uint64_t fused = c->call + fused_cost(p, c);

	*how = WT_PLAN_RUNS;
	if (p->fixed || (fused >= each && !p->whole))
		return each;
	*how = p->holes || p->whole ? WT_PLAN_ALL : WT_PLAN_FUSED;
	return fused;
}

enum wt_plan wt_policy_plan(const struct wt_policy *p,
			    const struct wt_piece *piece,
			    const struct wt_costs *c)
{
	unsigned most = piece->whole ? (1u << p->to) - 1 : DEFER_MOST;
	uint64_t pages = piece->pages / (piece->deferred + 1), now, put_off;
	enum wt_plan how, later;

	if (most > DEFER_WHOLE_MOST)
		most = DEFER_WHOLE_MOST;
	if (!piece->runs)
		return WT_PLAN_NONE;
	now = clearing_cost(piece, c, piece->deferred + 1, &how);
	if (!p->after || !p->page_ns)
		return how;
	/* From the first epoch on: what is spread over n + 1 of them. */
	now /= piece->deferred + 1;
	for (unsigned n = piece->deferred + 1; n <= most; n++) {
		put_off = clearing_cost(piece, c, n + 1, &later) +
			  p->page_ns * pages * n * (n + 1) / 2;
		/* A quarter less, or what is only reckoned is not worth it. */
		if (put_off / (n + 1) < now / 4 * 3)
			return WT_PLAN_DEFER;
	}
	return how;
}

bool wt_policy_fuses(const struct wt_policy *p, const struct wt_piece *block,
		     const struct wt_costs *c)
{
	struct wt_piece one = *block;

	/* As it is after one epoch, which may be best put off. */
	one.runs = (block->runs + block->deferred) / (block->deferred + 1);
	one.pages /= block->deferred + 1;
	if (one.pages < one.runs)
		one.pages = one.runs;
	one.deferred = 0;
	return !one.fixed &&
	       fused_cost(&one, c) <
		       c->look + arming_cost(&one, c, one.runs, one.pages) &&
	       wt_policy_plan(p, &one, c) != WT_PLAN_DEFER;
}
