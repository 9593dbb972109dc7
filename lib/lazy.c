/* SPDX-License-Identifier: MIT */
/*
 * lazy.c: memory that was never used is neither armed nor dirty.
 *
 * To arm what is not there makes its first store fault twice and keeps huge
 * pages from it.  Un-armed, it reads as written; so the room is asked which of
 * it is populated [K-populated].  A page that is not has never been written, or
 * was discarded before anybody was told of it: it holds the zeroes that it held
 * when the range was watched.  Once it was reported, by a look too, it is dirty
 * until it is cleared, whatever becomes of it.  [G1]
 */
#include "heat.h"
#include "hot.h"

/* Stretches asked for at once: 192 bytes of stack. */
#define PARTS 8

/* Rounded to what one store makes dirty, not before `from`. */
static struct wt_span grow(const struct wt_span *s, uintptr_t from,
			   const struct wt_page_region *part)
{
	size_t grain = wt_range_grain(s->attr);
	uintptr_t lo = part->start & ~(grain - 1);
	uintptr_t hi = (part->end + grain - 1) & ~(grain - 1);
	struct wt_span grown = { lo > from ? lo : from,
				 hi < s->end ? hi : s->end, s->attr, true };

	return grown;
}

/*
 * Calls `f` for what is populated of [*at, end), until it returns false; all of
 * it counts where that cannot be told.
 */
static bool each_populated(struct wtrack *t, const struct wt_span *s,
			   uintptr_t *at, uintptr_t end,
			   bool (*f)(void *context, const struct wt_span *part,
				     uintptr_t *at),
			   void *context)
{
	const struct wt_span limit = { s->start, end, s->attr, s->mapped };
	struct wt_page_region part[PARTS];
	uintptr_t pos = *at;

	while (pos < end) {
		long n = wt_be(t)->populated(t, &pos, end, part, PARTS);

		wt_count(&t->count.kernel_calls, 1);
		if (n < 0) {
			part[0].start = *at;
			part[0].end = pos = end;
			n = 1;
		}
		for (long i = 0; i < n; i++) {
			struct wt_span p = grow(&limit, *at, &part[i]);

			if (p.start < p.end && !f(context, &p, at))
				return false;
			*at = p.end > *at ? p.end : *at;
		}
	}
	*at = end;
	return true;
}

/* ---- as a part of a collection ---- */

static bool take_part(void *context, const struct wt_span *part, uintptr_t *at)
{
	struct wt_hot *h = context;
	uint64_t flags = WTRACK_RUN_PRESUMED;
	uintptr_t next;

	if (wt_range_grain(part->attr) > wt_page_size())
		flags |= WTRACK_RUN_COARSE;
	for (*at = part->start; *at < part->end; *at = next) {
		struct wt_next n = wt_hot_next(h, WT_BYTE_FRESH, *at);

		next = wt_hot_unit_end(h, *at, part->end);
		if (!wt_hot_emit(h, *at, next, flags, WT_BYTE_FRESH))
			return false;
		if (h->flags & WTRACK_CLEAR)
			wt_hot_settle(h, *at, next, WT_BYTE_FRESH, &n, false);
		else
			wt_heat_set(*at, next, WT_BYTE_DEFERRED);
	}
	return true;
}

bool wt_hot_take_lazy(struct wt_hot *h, uintptr_t *at, uintptr_t end)
{
	return each_populated(h->t, h->s, at, end, take_part, h);
}

/* ---- as an initial stretch ---- */

struct initial {
	struct wtrack *t;
	unsigned flags;
	int rc;
};

static bool arm_part(void *context, const struct wt_span *part, uintptr_t *at)
{
	struct initial *x = context;
	int rc = wt_be(x->t)->arm(x->t, part, x->flags);

	(void)at;
	x->rc = rc;
	if (!rc)
		wt_heat_set(part->start, part->end, WT_BYTE_CLEAN);
	return !rc;
}

/* Where what is kept un-armed begins or ends, at most `end`. */
static uintptr_t kept_until(uintptr_t at, uintptr_t end, bool *kept)
{
	uint8_t byte;

	at = wt_heat_extent(at, end, &byte);
	*kept = byte == WT_BYTE_KEPT;
	while (at < end) {
		uintptr_t next = wt_heat_extent(at, end, &byte);

		if ((byte == WT_BYTE_KEPT) != *kept)
			break;
		at = next;
	}
	return at;
}

int wt_hot_initial(struct wtrack *t, const struct wt_span *s, unsigned flags)
{
	struct initial x = { t, flags, 0 };
	uintptr_t at = s->start, end;

	for (; at < s->end && !x.rc; at = end) {
		struct wt_span part = *s;
		bool kept;

		part.start = at;
		part.end = end = kept_until(at, s->end, &kept);
		if (kept)
			continue;
		wt_heat_set(at, end, WT_BYTE_FRESH);
		if (s->attr & WT_LAZY)
			each_populated(t, s, &at, end, arm_part, &x);
		else
			x.rc = wt_be(t)->arm(t, &part, flags);
	}
	return x.rc;
}
