/* SPDX-License-Identifier: MIT */
/*
 * watch.c: ranges come and go; pages are marked, prepared and asked about.
 *
 * A range in transition is announced (wt_set_moving) before the kernel is told
 * and after the table: collectors pass over it, faults in it are retried.  So
 * neither sees a range that the table and the kernel disagree about.
 */
#include "fork.h"
#include "heat.h"
#include "hot.h"
#include "options.h"
#include "sys.h"
#include "vma.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define WT_API __attribute__((visibility("default")))

/* Pages of the least huge page there is: that of arm64, 64 KiB. */
#define HUGE_LEAST 16

/* ---- the mappings of a range, as stretches of equal attributes ---- */

/* The kernel's text tells no size; where none can be huge, nobody is asked. */
static unsigned shift_of(const struct wt_vma *v)
{
	size_t least = HUGE_LEAST * wt_page_size(), size = v->page_size;

	if (!size && !(v->start & (least - 1)) && v->end - v->start >= least)
		size = wt_vma_page_size_at(v->start);
	return size > wt_page_size() ? (unsigned)__builtin_ctzl(size)
				     : wt_page_shift();
}

static uint64_t attr_of(const struct wtrack *t, const struct wt_vma *v,
			uint64_t stable)
{
	const struct wt_backend *be = wt_be(t);
	uint64_t attr = v->prot | (v->file ? WT_FILE : 0) | stable;
	unsigned shift = shift_of(v);

	if (shift != wt_page_shift())
		attr |= WT_HUGETLB;
	if (shift < t->grain_shift)
		shift = t->grain_shift;
	attr |= (uint64_t)shift << WT_SHIFT_BITS;
	return attr & be->attr_mask;
}

/*
 * Moves `s` to the next stretch behind it, up to `end`; `w` and `v` hold the
 * walk.  Where the list of mappings cannot be read, all counts as ordinary
 * memory.  False at the end.
 */
static bool next_stretch(const struct wtrack *t, struct wt_vma_walk *w,
			 struct wt_vma *v, struct wt_span *s, uintptr_t end)
{
	const struct wt_vma plain = { s->end, end, PROT_READ | PROT_WRITE,
				      false, wt_page_size() };

	uint64_t stable = s->attr & WT_STABLE;

	s->start = s->end;
	if (s->start >= end)
		return false;
	if (v->end <= s->start && wt_vma_walk_next(w, v) <= 0)
		*v = plain;
	s->attr = attr_of(t, v, stable);
	s->end = v->end < end ? v->end : end;
	while (s->end < end) {
		if (wt_vma_walk_next(w, v) <= 0)
			*v = plain;
		if (v->start > s->end || attr_of(t, v, stable) != s->attr)
			break;
		s->end = v->end < end ? v->end : end;
	}
	return true;
}

static bool aligned(const struct wt_span *s)
{
	/* A grain that was asked for is cut at the ends of the range instead.
	 */
	return !(s->attr & WT_HUGETLB) ||
	       !((s->start | s->end) & (wt_range_grain(s->attr) - 1));
}

/* ---- watch ---- */

/*
 * The handle's policy, if there is memory for its state; else exact.  Private
 * anonymous memory is lazy, where the room knows which of it is there: page
 * cache can be dropped and come back.
 */
static void choose_policy(struct wtrack *t, struct wt_span *s)
{
	const struct wt_backend *be = wt_be(t);

	if (t->policy.kind == WTRACK_POLICY_EXACT ||
	    !(be->attr_mask & WT_POLICY))
		return;
	if (wt_heat_reserve(s->start, s->end)) {
		wt_count(&t->hot.exact, 1);
		return;
	}
	__atomic_store_n(&t->hot.on, true, __ATOMIC_RELAXED);
	s->attr |= wt_policy_attr(&t->policy) | WT_POLICY;
	if (be->populated && !(s->attr & (WT_FILE | WT_HUGETLB)))
		s->attr |= WT_LAZY;
}

/* Tracked, clean; what is not populated stays un-armed in a lazy range. */
static int enroll_clean(struct wtrack *t, const struct wt_span *s)
{
	int rc = wt_be(t)->enroll(t, s, s->attr & WT_LAZY);

	if (rc || !(s->attr & WT_LAZY))
		return rc;
	rc = wt_hot_initial(t, s, 0);
	if (rc) {
		wt_be(t)->withdraw(t, s);
		wt_heat_forget(s->start, s->end);
	}
	return rc;
}

static int enroll(struct wtrack *t, const struct wt_span *stretch,
		  unsigned flags)
{
	bool dirty = flags & WTRACK_WATCH_DIRTY;
	struct wt_span s = *stretch;
	struct wt_range r;
	int rc;

	if (!aligned(&s))
		return -EINVAL;
	/* One insertion, and the removal that would undo it. */
	rc = wt_table_reserve(&t->table, 1);
	if (rc)
		return rc;
	choose_policy(t, &s);
	rc = dirty ? wt_be(t)->enroll(t, &s, true) : enroll_clean(t, &s);
	if (rc)
		return rc;
	r = (struct wt_range){ s.start, s.end, s.attr, NULL };
	wt_table_insert(&t->table, &r, dirty ? r.start : WT_NOT_FRESH);
	return 0;
}

/* Withdraws the parts of [start, end) that the table knows, in order. */
static int withdraw(struct wtrack *t, uintptr_t start, uintptr_t end,
		    uintptr_t *done)
{
	struct wt_range r[WT_LEAF_RANGES];

	for (*done = start; *done < end;) {
		size_t n = wt_table_peek(&t->table, *done, r);

		for (size_t i = 0; i < n && *done < end; i++) {
			struct wt_span s = { r[i].start > start ? r[i].start
								: start,
					     r[i].end < end ? r[i].end : end,
					     r[i].attr, false };

			if (s.start >= end)
				return 0;
			int rc = aligned(&s) ? wt_be(t)->withdraw(t, &s)
					     : -EINVAL;
			if (rc)
				return rc;
			*done = s.end;
		}
		if (!n)
			return 0;
	}
	return 0;
}

int wt_watch_locked(struct wtrack *t, uintptr_t start, uintptr_t end,
		    unsigned flags)
{
	struct wt_span s = { start, start,
			     flags & WTRACK_WATCH_STABLE ? WT_STABLE : 0,
			     false };
	struct wt_vma_walk w;
	struct wt_vma v = { 0, 0, 0, false, 0 };
	struct wtrack *other;
	uintptr_t done;
	int rc;

	if (wt_table_overlaps(&t->table, start, end))
		return -EEXIST;
	for (other = wt_first_handle(); other; other = wt_next_handle(other))
		if (wt_table_overlaps(&other->table, start, end))
			return -EBUSY;
	rc = wt_vma_mapped(start, end);
	if (rc)
		return rc;
	wt_set_moving(start, end);
	wt_vma_walk_init(&w, start, false);
	while (!rc && next_stretch(t, &w, &v, &s, end))
		rc = enroll(t, &s, flags);
	wt_vma_walk_end(&w);
	if (rc && s.start > start) {
		withdraw(t, start, s.start, &done);
		wt_heat_forget(start, s.start);
		wt_table_remove(&t->table, start, s.start);
	}
	wt_set_moving(0, 0);
	return rc;
}

static int check_range(const struct wtrack *t, const void *addr, size_t len,
		       uintptr_t *start, uintptr_t *end)
{
	*start = wt_address(addr);
	*end = *start + len;
	if (!t || !len || *end < *start)
		return -EINVAL;
	return 0;
}

static int check_pages(const struct wtrack *t, const void *addr, size_t len,
		       uintptr_t *start, uintptr_t *end)
{
	int rc = check_range(t, addr, len, start, end);

	if (!rc && ((*start | len) & (wt_page_size() - 1)))
		rc = -EINVAL;
	return rc;
}

WT_API int wtrack_watch(struct wtrack *t, void *addr, size_t len,
			unsigned flags)
{
	uintptr_t start, end;
	sigset_t saved;
	int rc = check_pages(t, addr, len, &start, &end);

	if (rc || (flags & ~(WTRACK_WATCH_DIRTY | WTRACK_WATCH_STABLE)))
		return -EINVAL;
	wt_fork_check();
	wt_lock(&saved);
	rc = wt_watch_locked(t, start, end, flags);
	wt_handler_replaced(t);
	wt_unlock(&saved);
	return rc;
}

/* ---- unwatch ---- */

/* Undoes a withdrawal that stopped at `done`: all of it is dirty then. */
static void enroll_again(struct wtrack *t, uintptr_t start, uintptr_t done)
{
	struct wt_range r;

	while (start < done && wt_table_find(&t->table, start, &r)) {
		struct wt_span s = { start, r.end < done ? r.end : done, r.attr,
				     false };

		wt_be(t)->enroll(t, &s, true);
		start = s.end;
	}
}

int wt_unwatch_locked(struct wtrack *t, uintptr_t start, uintptr_t end)
{
	uintptr_t done;
	int rc;

	if (!wt_table_covers(&t->table, start, end))
		return -ENOENT;
	rc = wt_table_reserve(&t->table, 0);
	if (rc)
		return rc;
	wt_set_moving(start, end);
	/* Collections that did not see this transition end before it goes on.
	 */
	wt_wait_for_readers();
	rc = withdraw(t, start, end, &done);
	if (rc) {
		enroll_again(t, start, done);
	} else {
		if (__atomic_load_n(&t->hot.on, __ATOMIC_RELAXED))
			wt_heat_forget(start, end);
		wt_table_remove(&t->table, start, end);
	}
	wt_set_moving(0, 0);
	__atomic_store_n(&t->lossy, 0, __ATOMIC_RELAXED);
	/* Handlers that found the range in the table are done with it. */
	if (wt_be(t)->signal)
		wt_wait_for_readers();
	return rc;
}

WT_API int wtrack_unwatch(struct wtrack *t, void *addr, size_t len)
{
	uintptr_t start, end;
	sigset_t saved;
	int rc = check_pages(t, addr, len, &start, &end);

	if (rc)
		return rc;
	wt_fork_check();
	wt_lock(&saved);
	rc = wt_unwatch_locked(t, start, end);
	wt_unlock(&saved);
	return rc;
}

/* ---- mark, prepare_write, query ---- */

/* Memory that was never used is reported only if it says so. */
static void mark_lazy(const struct wt_span *s)
{
	uintptr_t at = s->start, end;

	for (; at < s->end; at = end) {
		uint8_t byte;

		end = wt_heat_extent(at, s->end, &byte);
		if (wt_is_lazy(s, byte))
			wt_heat_set(at, end, WT_BYTE_MARKED);
	}
}

/*
 * Marks what is watched of [start, end), whole grains.  In a section, so that
 * an unwatch does not return before this is done with its range.
 */
static int mark_watched(struct wtrack *t, uintptr_t start, uintptr_t end)
{
	struct wt_range r[WT_LEAF_RANGES];
	struct wt_section section;
	size_t n;
	int rc = 0;

	wt_section_enter(&section);
	while (!rc && start < end && (n = wt_table_peek(&t->table, start, r))) {
		for (size_t i = 0; !rc && i < n && start < end; i++) {
			uintptr_t grain = wt_range_grain(r[i].attr);
			uintptr_t last = (end + grain - 1) & ~(grain - 1);
			struct wt_span s = { start & ~(grain - 1),
					     last < r[i].end ? last : r[i].end,
					     r[i].attr, false };

			if (s.start < r[i].start)
				s.start = r[i].start;
			if (s.start < s.end) {
				mark_lazy(&s);
				rc = wt_be(t)->mark(t, &s);
			}
			start = r[i].end;
		}
	}
	wt_section_leave(&section);
	return rc;
}

WT_API int wtrack_mark(struct wtrack *t, const void *addr, size_t len)
{
	uintptr_t start, end;
	int rc = check_range(t, addr, len, &start, &end);

	if (rc)
		return rc;
	wt_fork_check();
	if (!wt_table_covers(&t->table, start, end))
		return -ENOENT;
	return mark_watched(t, start, end);
}

WT_API int wtrack_prepare_write(struct wtrack *t, void *addr, size_t len)
{
	uintptr_t start, end;
	int rc = check_range(t, addr, len, &start, &end);

	if (rc)
		return rc;
	wt_fork_check();
	/* [K-proc-mem] Some of the kernel's stores do not wait for a thread. */
	if ((t->caps & WTRACK_CAP_KERNEL_WRITES) && !wt_be(t)->thread)
		return 0;
	rc = mark_watched(t, start, end);
	/* Replaced by what nobody protects: it can be written already. */
	if (rc == -ENOENT)
		rc = wt_vma_mapped(start & ~(wt_page_size() - 1), end);
	return rc;
}

static void tell_policy(struct wtrack_range_info *i, const struct wt_range *r,
			uintptr_t at)
{
	struct wt_policy p = wt_policy_of(r->attr);

	i->policy = p.kind;
	if ((r->attr & WT_POLICY) && wt_byte_is_presumed(wt_heat_get(at)))
		i->flags |= WTRACK_RANGE_UNARMED;
	if (p.kind == WTRACK_POLICY_EXACT)
		return;
	i->after = p.after;
	i->from = 1u << p.from;
	i->to = 1u << p.to;
	i->page_ns = p.page_ns;
}

static int describe(struct wtrack *t, const struct wt_range *r, uintptr_t at,
		    struct wtrack_range_info *info)
{
	const struct wt_span s = { r->start, r->end, r->attr, false };
	struct wtrack_range_info i;

	memset(&i, 0, sizeof(i));
	i.size = sizeof(i);
	i.start = r->start;
	i.end = r->end;
	i.grain = wt_range_grain(r->attr);
	if (i.grain > wt_page_size())
		i.flags |= WTRACK_RANGE_COARSE;
	if (at >= wt_fresh_get(r->fresh))
		i.flags |= WTRACK_RANGE_INITIAL;
	tell_policy(&i, r, at);
	if (wt_be(t)->inspect(t, &s, at))
		i.flags |= WTRACK_RANGE_LOST;
	return wt_struct_give(info, &i);
}

WT_API int wtrack_query(struct wtrack *t, const void *addr,
			struct wtrack_range_info *info)
{
	uintptr_t at = wt_address(addr);
	struct wt_range r;

	if (!t)
		return -EINVAL;
	if (!wt_table_find(&t->table, at, &r))
		return -ENOENT;
	if (!info)
		return 0;
	wt_fork_check();
	return describe(t, &r, at, info);
}
