/* SPDX-License-Identifier: MIT */
/* hot.c: one collection under a policy: look, decide, report, arm. */
#include "hot.h"
#include "costs.h"
#include "heat.h"

/*
 * Runs looked at in one call: 2.3 KiB of stack.  With fewer the calls are felt
 * (1 us each against 17 ns a run).
 */
#define LOOKED 96

/* Blocks: a look at fewer, between others, costs more than it spares. */
#define FUSED_LEAST 4

/*
 * A room that can only arm all of it: one plan, from a look at all of it.  What
 * is put off stays as it is.
 */
static bool put_off_whole(struct wt_hot *h, uintptr_t at)
{
	struct wt_heat *heat = wt_heat_at(at);
	struct wt_piece sum = { .whole = true,
				.deferred = wt_heat_deferred(heat) };
	struct wtrack_run runs[LOOKED];
	bool put_off;

	while (at < h->s->end) {
		/* cppcheck-suppress legacyUninitvar; the sink fills it */
		struct wt_sink seen = { runs, 0, LOOKED };
		struct wt_batch b = { runs, 0, 0, at };
		uintptr_t end;
		struct wt_piece p;

		h->be->collect(h->t, h->s, &b.reached, &seen, WTRACK_GET);
		b.n = seen.n;
		end = b.reached;
		p = wt_hot_sum_up(h, &b, at, &end);
		sum.runs += p.runs;
		sum.pages += p.pages;
		sum.holes += p.holes;
		at = end > at ? b.reached : h->s->end;
	}
	put_off = wt_policy_plan(&h->policy, &sum, h->costs) == WT_PLAN_DEFER;
	wt_heat_count(heat, put_off);
	return put_off;
}

static struct wt_hot begin(struct wtrack *t, const struct wt_span *s,
			   struct wt_sink *sink, unsigned flags)
{
	const struct wt_backend *be = wt_be(t);
	struct wt_hot h = { .t = t,
			    .be = be,
			    .s = s,
			    .policy = wt_policy_of(s->attr),
			    .costs = wt_costs_of(be),
			    .sink = sink,
			    .flags = flags,
			    .shift = wt_page_shift() };

	h.tick = (unsigned)__atomic_load_n(&t->hot.tick, __ATOMIC_RELAXED);
	wt_policy_be_cautious(
		&h.policy, __atomic_load_n(&t->hot.caution, __ATOMIC_RELAXED));
	return h;
}

static void end(struct wt_hot *h)
{
	struct wt_hot_stats *s = &h->t->hot;

	wt_hot_flush(h);
	wt_count(&s->presumed, h->count.presumed);
	wt_count(&s->avoided, h->count.avoided);
	wt_count(&s->deferred, h->count.deferred);
	wt_count(&s->rechecks, h->count.rechecks);
	wt_count(&s->probes_now, h->count.rechecks);
	wt_count(&s->rechecks_dirty, h->count.proved);
	wt_count(&s->proved_now, h->count.proved);
}

/*
 * Fuses the blocks at `at` that are best fused, and else tells where the next
 * of them begin.  Few between others are not worth calls of their own.
 */
static bool fused_first(struct wt_hot *h, uintptr_t *at, uintptr_t *next,
			bool *room)
{
	const size_t least = FUSED_LEAST * wt_heat_block();
	uintptr_t end = h->s->end, to;

	if (!(h->flags & WTRACK_CLEAR) || h->be->whole)
		return false;
	to = wt_heat_fused_until(*at, end);
	if (to > *at && (to - *at >= least || to == end)) {
		*room = wt_hot_fuse(h, at, to);
		return true;
	}
	*next = wt_heat_next_fused(to, end);
	while (*next < end && wt_heat_fused_until(*next, end) - *next < least)
		*next = wt_heat_next_fused(wt_heat_fused_until(*next, end),
					   end);
	return false;
}

/* What could not be armed may have joined runs: a short answer is the end. */
static bool has_room_after_all(struct wt_hot *h)
{
	wt_hot_flush(h);
	return h->sink->n < h->sink->cap;
}

void wt_hot_collect(struct wtrack *t, const struct wt_span *s, uintptr_t *at,
		    struct wt_sink *sink, unsigned flags)
{
	unsigned look = WTRACK_GET | (flags & WTRACK_CLEAR ? WT_LOOK : 0);
	struct wt_hot h = begin(t, s, sink, flags);
	struct wtrack_run runs[LOOKED];
	bool room = true;

	if (h.be->whole && (flags & WTRACK_CLEAR)) {
		h.put_off = put_off_whole(&h, *at);
		if (!h.put_off)
			room = wt_hot_fuse(&h, at, s->end);
	}
	while (*at < s->end && (room || has_room_after_all(&h))) {
		/* cppcheck-suppress legacyUninitvar; the sink fills it */
		struct wt_sink seen = { runs, 0, LOOKED };
		struct wt_batch b = { runs, 0, 0, *at };
		struct wt_span part = *s;

		if (fused_first(&h, at, &part.end, &room))
			continue;
		h.be->collect(t, &part, &b.reached, &seen, look);
		b.n = seen.n;
		room = wt_hot_take(&h, &b, at);
	}
	end(&h);
}

int wt_hot_clear(struct wtrack *t, const struct wt_span *s)
{
	const struct wtrack_run run = { s->start, s->end, WTRACK_RUN_WRITTEN };
	struct wt_hot h = begin(t, s, NULL, WTRACK_CLEAR);
	struct wt_batch b = { &run, 1, 0, s->end };
	uintptr_t at = s->start;

	wt_hot_take(&h, &b, &at);
	end(&h);
	return h.rc;
}

/* ---- time ---- */

static void be_cautious(struct wt_hot_stats *s, uint64_t checks, uint64_t dirty)
{
	uint64_t tick = __atomic_load_n(&s->tick, __ATOMIC_RELAXED);
	uint64_t since = __atomic_load_n(&s->caution_at, __ATOMIC_RELAXED);
	unsigned was = __atomic_load_n(&s->caution, __ATOMIC_RELAXED);
	unsigned to = wt_policy_caution(was, checks, dirty, tick - since);

	if (to == was)
		return;
	__atomic_store_n(&s->caution, to, __ATOMIC_RELAXED);
	__atomic_store_n(&s->caution_at, tick, __ATOMIC_RELAXED);
}

/* What was armed to be re-checked two ticks ago is known by now. */
void wt_hot_next_tick(struct wtrack *t)
{
	struct wt_hot_stats *s = &t->hot;
	uint64_t now = __atomic_exchange_n(&s->probes_now, 0, __ATOMIC_RELAXED);
	uint64_t was =
		__atomic_exchange_n(&s->probes_before, now, __ATOMIC_RELAXED);
	uint64_t proved =
		__atomic_exchange_n(&s->proved_now, 0, __ATOMIC_RELAXED);

	if (was > proved)
		wt_count(&s->rechecks_clean, was - proved);
	wt_count(&s->tick, 1);
	be_cautious(s, was, proved);
}
