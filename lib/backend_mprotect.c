/* SPDX-License-Identifier: MIT */
/* backend_mprotect.c: read-only pages, SIGSEGV, and a bitmap. */
#include "dirtymap.h"
#include "fault.h"
#include "mprotect.h"
#include "vma.h"

#include <errno.h>

int wt_mprotect_protect(struct wtrack *t, const struct wt_span *s,
			uintptr_t start, uintptr_t end)
{
	const struct wt_span done = { start, end, s->attr, true };
	int rc = 0;

	if (s->attr & PROT_WRITE) {
		rc = wt_mprotect_set(start, end, s->attr, false);
		wt_count(&t->count.kernel_calls, 1);
	}
	wt_heed_announced(&wt_mprotect_announced, &done);
	if (rc) {
		/* Partly writable: dirty until the next clearing tries again.
		 */
		wt_dirty_set_degraded(start, end);
		wt_dirty_set(start, end);
		wt_count(&t->count.degraded, 1);
	}
	return rc;
}

static int mprotect_arm(struct wtrack *t, const struct wt_span *s,
			unsigned flags)
{
	int rc;

	(void)flags;
	wt_clearing_begin(&wt_mprotect_announced);
	wt_dirty_clear(s->start, s->end);
	rc = wt_mprotect_protect(t, s, s->start, s->end);
	wt_clearing_end(&wt_mprotect_announced);
	return rc;
}

/* Where the whole does not go in one call, mapping by mapping. */
static int unprotect_each(const struct wt_span *s)
{
	struct wt_vma_walk w;
	struct wt_vma v;
	int rc, worst = 0;

	wt_vma_walk_init(&w, s->start, false);
	while ((rc = wt_vma_walk_next(&w, &v)) > 0 && v.start < s->end) {
		uintptr_t lo = v.start > s->start ? v.start : s->start;
		uintptr_t hi = v.end < s->end ? v.end : s->end;

		if (v.prot != (s->attr & WT_PROT_MASK))
			rc = wt_mprotect_set(lo, hi, s->attr, true);
		/* EACCES: this mapping never was writable, nor ours. */
		if (rc < 0 && rc != -EACCES)
			worst = rc;
	}
	wt_vma_walk_end(&w);
	return rc < 0 ? rc : worst;
}

static int mprotect_withdraw(struct wtrack *t, const struct wt_span *s)
{
	int rc = 0;

	(void)t;
	if (s->attr & PROT_WRITE)
		rc = wt_mprotect_set(s->start, s->end, s->attr, true);
	if (rc)
		rc = unprotect_each(s);
	if (rc)
		wt_dirty_set(s->start, s->end);
	else
		wt_dirty_clear(s->start, s->end);
	return rc;
}

static int mprotect_enroll(struct wtrack *t, const struct wt_span *s,
			   bool dirty)
{
	int rc = wt_dirty_reserve(s->start, s->end);

	if (rc)
		return rc;
	if (dirty) {
		wt_dirty_set(s->start, s->end);
		return 0;
	}
	rc = mprotect_arm(t, s, 0);
	if (rc)
		mprotect_withdraw(t, s);
	return rc;
}

/* Protection is inherited, and so is the bitmap: only faults in flight end. */
static void mprotect_adopt(struct wtrack *t, const struct wt_span *s)
{
	(void)t;
	(void)s;
}

static int mprotect_revive(bool forked)
{
	(void)forked;
	wt_announced_reset(&wt_mprotect_announced);
	return 0;
}

static int mprotect_inspect(struct wtrack *t, const struct wt_span *s,
			    uintptr_t addr)
{
	struct wt_span block = wt_block_at(s, addr);
	uintptr_t at = block.start;
	struct wt_vma_walk w;
	struct wt_vma v;
	int rc = wt_vma_mapped(at, block.end);

	(void)t;
	if (rc)
		return rc;
	wt_vma_walk_init(&w, at, false);
	rc = wt_vma_walk_next(&w, &v);
	wt_vma_walk_end(&w);
	if (rc <= 0)
		return 0;
	return (v.prot & PROT_WRITE) && v.start <= at && !wt_dirty_test(at)
		       ? -EPERM
		       : 0;
}

static int mprotect_start(void)
{
	return 0;
}

/* The handler stays: a fault may be on its way to it. */
static void mprotect_stop(void)
{
}

const struct wt_backend wt_backend_mprotect = {
	.name = "mprotect",
	.caps = WTRACK_CAP_PRECISE | WTRACK_CAP_LOSS | WTRACK_CAP_FILES |
		WTRACK_CAP_CONCURRENT,
	.attr_mask = ~(uint64_t)0,
	.grains = true,
	.signal = SIGSEGV,
	.first_pages = 1024,
	.start = mprotect_start,
	.stop = mprotect_stop,
	.enroll = mprotect_enroll,
	.withdraw = mprotect_withdraw,
	.collect = wt_mprotect_collect,
	.arm = mprotect_arm,
	.mark = wt_mprotect_mark,
	.inspect = mprotect_inspect,
	.revive = mprotect_revive,
	.adopt = mprotect_adopt,
	.resolve = wt_mprotect_resolve,
};
