/* SPDX-License-Identifier: MIT */
/*
 * advise.c: which policy a range is under, and what the program knows better.
 *
 * A change of policy replaces a range in the table by itself with other
 * attributes, in one step: a collection sees the one or the other.
 */
#include "costs.h"
#include "fork.h"
#include "heat.h"
#include "hot.h"
#include "sys.h"

#include <errno.h>

#define WT_API __attribute__((visibility("default")))

/* Calls `f` for the parts of ranges in [start, end), until it fails. */
static int each_part(struct wtrack *t, uintptr_t start, uintptr_t end,
		     int (*f)(struct wtrack *t, const struct wt_range *r,
			      const struct wt_span *part, const void *context),
		     const void *context)
{
	struct wt_range r[WT_LEAF_RANGES];
	int rc = 0;

	/* One at a time: `f` may change the table, and join what is left. */
	while (!rc && start < end && wt_table_peek(&t->table, start, r) &&
	       r[0].start < end) {
		struct wt_span part = { r[0].start > start ? r[0].start : start,
					r[0].end < end ? r[0].end : end,
					r[0].attr, false };

		rc = f(t, &r[0], &part, context);
		start = part.end;
	}
	return rc;
}

/* ---- policies ---- */

static uint64_t attr_under(const struct wtrack *t, uint64_t attr,
			   const struct wt_policy *p)
{
	/* Exact from the start needs no state; later it has to end first. */
	if (p->kind == WTRACK_POLICY_EXACT && !(attr & WT_POLICY))
		return attr;
	attr = (attr & (~WT_POLICY_MASK | WT_LAZY)) | wt_policy_attr(p) |
	       WT_POLICY;
	return attr & wt_be(t)->attr_mask;
}

/* Counts the parts, and makes room for their state. */
static int prepare(struct wtrack *t, const struct wt_range *r,
		   const struct wt_span *part, const void *context)
{
	size_t *parts = *(size_t *const *)context;

	(void)r;
	++*parts;
	if ((part->attr & WT_HUGETLB) &&
	    ((part->start | part->end) & (wt_range_grain(part->attr) - 1)))
		return -EINVAL;
	if (!(wt_be(t)->attr_mask & WT_POLICY))
		return 0;
	__atomic_store_n(&t->hot.on, true, __ATOMIC_RELAXED);
	return wt_heat_reserve(part->start, part->end);
}

/* The same for whole ranges. */
static int prepare_range(struct wtrack *t, const struct wt_range *r,
			 const struct wt_span *part, const void *context)
{
	const struct wt_span whole = { r->start, r->end, r->attr, false };

	(void)part;
	return prepare(t, r, &whole, context);
}

static int change(struct wtrack *t, const struct wt_range *r,
		  const struct wt_span *part, const void *context)
{
	uint64_t attr = attr_under(t, r->attr, context);
	uintptr_t fresh = wt_fresh_get(r->fresh);
	struct wt_range as = { part->start, part->end, attr, NULL };

	if (attr != r->attr)
		wt_table_replace(&t->table, &as,
				 fresh <= part->start ? part->start
				 : fresh < part->end  ? fresh
						      : WT_NOT_FRESH);
	return 0;
}

/* With the lock held.  Room for all of it first: then nothing can fail. */
static int change_policy(struct wtrack *t, uintptr_t start, uintptr_t end,
			 const struct wt_policy *p)
{
	size_t parts = 0, *count = &parts;
	int rc = each_part(t, start, end, prepare, &count);

	/* Each replacement is two changes, and may leave a half on each side.
	 */
	if (!rc)
		rc = wt_table_reserve(&t->table, 4 * parts + 4);
	if (!rc)
		rc = each_part(t, start, end, change, p);
	return rc;
}

/* The first and the last address that can be watched. */
#define ALL_START ((uintptr_t)0)
#define ALL_END   (~(uintptr_t)0 & ~(wt_page_size() - 1))

WT_API int wtrack_set_policy(struct wtrack *t, void *addr, size_t len,
			     const struct wtrack_policy *policy)
{
	uintptr_t start = wt_address(addr), end = start + len;
	bool all = !addr && !len;
	struct wt_policy p;
	sigset_t saved;
	int rc = t && policy ? wt_policy_read(policy, &p) : -EINVAL;

	if (!rc && !all &&
	    (!len || end < start || ((start | len) & (wt_page_size() - 1))))
		rc = -EINVAL;
	if (rc)
		return rc;
	wt_fork_check();
	wt_lock(&saved);
	if (!all && !wt_table_covers(&t->table, start, end))
		rc = -ENOENT;
	else
		rc = change_policy(t, all ? ALL_START : start,
				   all ? ALL_END : end, &p);
	if (!rc && all)
		t->policy = p;
	if (!rc && p.kind != WTRACK_POLICY_EXACT)
		wt_costs_measure(wt_be(t), t->hosted);
	wt_unlock(&saved);
	return rc;
}

/* ---- advice ---- */

/* Pages become dirty and stay un-armed: first the byte, or it were armed. */
static int keep_unarmed(struct wtrack *t, const struct wt_span *s)
{
	int rc;

	wt_heat_set(s->start, s->end, WT_BYTE_KEPT);
	rc = wt_be(t)->mark(t, s);
	if (rc)
		wt_heat_set(s->start, s->end, WT_BYTE_DEFERRED);
	return rc;
}

/*
 * First armed: a page whose byte says cold is not presumed to be dirty.  What
 * was initial is so no more, as a range of its own.
 */
static int arm_now(struct wtrack *t, const struct wt_range *r,
		   const struct wt_span *s)
{
	const struct wt_range as = { s->start, s->end, s->attr, NULL };
	int rc = wt_be(t)->arm(t, s, 0);

	wt_heat_set(s->start, s->end, rc ? WT_BYTE_DEFERRED : WT_BYTE_CLEAN);
	if (!rc && wt_fresh_get(r->fresh) < s->end)
		wt_table_replace(&t->table, &as, WT_NOT_FRESH);
	return rc;
}

static int normal(const struct wt_span *s)
{
	uintptr_t at = s->start, end;

	for (; at < s->end; at = end) {
		uint8_t byte;

		end = wt_heat_extent(at, s->end, &byte);
		if (byte == WT_BYTE_KEPT)
			wt_heat_set(at, end, WT_BYTE_DEFERRED);
	}
	return 0;
}

static int follow(struct wtrack *t, const struct wt_range *r,
		  const struct wt_span *part, const void *context)
{
	int advice = *(const int *)context;
	uintptr_t grain = wt_range_grain(part->attr);
	struct wt_span s = *part;

	s.start &= ~(grain - 1);
	s.end = (s.end + grain - 1) & ~(grain - 1);
	if (s.start < r->start)
		s.start = r->start;
	if (s.end > r->end)
		s.end = r->end;
	/* Nothing is armed here, ever. */
	if (!(r->attr & WT_POLICY))
		return 0;
	if (advice == WTRACK_ADVISE_WRITES)
		return keep_unarmed(t, &s);
	return advice == WTRACK_ADVISE_ARM ? arm_now(t, r, &s) : normal(&s);
}

/* A range without state gets it, and stays exact for the rest. */
static int give_state(struct wtrack *t, const struct wt_range *r,
		      const struct wt_span *part, const void *context)
{
	struct wt_range as = *r;

	(void)part;
	(void)context;
	as.attr = (r->attr | WT_POLICY) & wt_be(t)->attr_mask;
	if (as.attr != r->attr)
		wt_table_replace(&t->table, &as, wt_fresh_get(r->fresh));
	return 0;
}

static int advise(struct wtrack *t, uintptr_t start, uintptr_t end, int advice)
{
	size_t parts = 0, *count = &parts;
	struct wt_section section;
	int rc;

	if (!wt_table_covers(&t->table, start, end))
		return -ENOENT;
	rc = each_part(t, start, end, prepare_range, &count);
	/* To get state, and to be initial no more. */
	if (!rc)
		rc = wt_table_reserve(&t->table, 8 * parts + 8);
	if (!rc)
		rc = each_part(t, start, end, give_state, NULL);
	if (rc)
		return rc;
	wt_section_enter(&section);
	rc = each_part(t, start, end, follow, &advice);
	wt_section_leave(&section);
	return rc;
}

WT_API int wtrack_advise(struct wtrack *t, void *addr, size_t len, int advice)
{
	uintptr_t start = wt_address(addr), end = start + len;
	uintptr_t page = wt_page_size();
	sigset_t saved;
	int rc;

	if (!t || !len || end < start || advice < WTRACK_ADVISE_WRITES ||
	    advice > WTRACK_ADVISE_NORMAL)
		return -EINVAL;
	wt_fork_check();
	wt_lock(&saved);
	rc = advise(t, start & ~(page - 1), (end + page - 1) & ~(page - 1),
		    advice);
	wt_unlock(&saved);
	return rc;
}
