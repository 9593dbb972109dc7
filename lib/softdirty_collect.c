/* SPDX-License-Identifier: MIT */
/* softdirty_collect.c: one pass over soft-dirty bits and the dirtymap. */
#include "dirtymap.h"
#include "pagemap.h"
#include "softdirty.h"

struct pass {
	struct wtrack *t;
	struct wt_sink *sink;
	bool clear;
	bool stopped;
	bool tried; /* to clear the kernel's bits */
	bool kept;  /* some that could not be cleared */
	struct wt_soft_doubt doubt;
};

/* Pages that are reported as one, and become clean or do not as one. */
struct run {
	uintptr_t start;
	uintptr_t end; /* 0: none */
	uint64_t flags;
	bool keep;
};

/* What the run has is reported; false when the sink is full. */
static bool take(struct pass *p, struct run *run)
{
	if (!run->end)
		return true;
	if (!wt_sink_add(p->sink, run->start, run->end, run->flags))
		return false;
	if (run->keep) {
		wt_soft_keep(run->start, run->end);
		p->kept = true;
	} else if (p->clear) {
		wt_dirty_clear(run->start, run->end);
	}
	run->end = 0;
	return true;
}

/* Why the page at `addr` is dirty, and whether it must stay so; 0: clean. */
static uint64_t flags_at(struct pass *p, uintptr_t addr, uint64_t entry,
			 bool *keep)
{
	uintptr_t next = addr + wt_page_size();
	bool set = entry & WT_ENTRY_SOFT_DIRTY;
	bool folded = wt_dirty_test(addr);

	uint64_t flags = WTRACK_RUN_WRITTEN;

	*keep = set && p->clear;
	if (!set && !folded)
		return 0;
	if (set)
		flags |= wt_soft_doubt_at(p->t, &p->doubt, addr);
	if (*keep || (folded && wt_dirty_degraded(addr, next)))
		flags |= WTRACK_RUN_DEGRADED;
	return flags;
}

/* Looks through `n` entries from `at` on; false when the sink is full. */
static bool take_entries(struct pass *p, struct run *run, uintptr_t at,
			 const uint64_t *entry, long n)
{
	size_t page = wt_page_size();

	for (long i = 0; i < n; i++, at += page) {
		bool keep;
		uint64_t flags = flags_at(p, at, entry[i], &keep);

		if (run->end && (flags != run->flags || keep != run->keep) &&
		    !take(p, run))
			return false;
		if (!flags)
			continue;
		if (!run->end) {
			run->start = at;
			run->flags = flags;
			run->keep = keep;
		}
		run->end = at + page;
	}
	return true;
}

static bool any_set(const uint64_t *entry, long n)
{
	for (long i = 0; i < n; i++)
		if (entry[i] & WT_ENTRY_SOFT_DIRTY)
			return true;
	return false;
}

/*
 * The kernel's bits are cleared once, when the first is met.  Those that are
 * set after that are of pinned pages [K-soft-pinned], or nobody could promise
 * that none is set meanwhile: their pages stay dirty.
 */
static long read_entries(struct pass *p, uintptr_t at, uintptr_t end,
			 uint64_t *entry)
{
	long n = wt_soft_read(p->t, at, end, entry);

	if (!p->clear || p->tried || !any_set(entry, n))
		return n;
	p->tried = true;
	wt_soft_clear(p->t, p->stopped, entry);
	return wt_soft_read(p->t, at, end, entry);
}

/* [*at, end) cannot be read: nothing is known of it. */
static void take_unreadable(struct pass *p, uintptr_t *at, uintptr_t end)
{
	p->kept = true;
	if (wt_sink_add(p->sink, *at, end, WTRACK_RUN_DEGRADED))
		*at = end;
}

static void collect(struct pass *p, uintptr_t *at, uintptr_t end)
{
	uint64_t entry[WT_SOFT_ENTRIES];
	struct run run = { 0, 0, 0, false };
	uintptr_t pos = *at;

	while (pos < end) {
		long n = read_entries(p, pos, end, entry);

		if (n < 0) {
			*at = run.end ? run.start : pos;
			if (take(p, &run)) {
				*at = pos;
				take_unreadable(p, at, end);
			}
			return;
		}
		if (!take_entries(p, &run, pos, entry, n)) {
			*at = run.start;
			return;
		}
		pos += (size_t)n << wt_page_shift();
	}
	*at = take(p, &run) ? end : run.start;
}

void wt_soft_collect(struct wtrack *t, const struct wt_span *s, uintptr_t *at,
		     struct wt_sink *sink, unsigned flags)
{
	size_t before = sink->n;
	struct pass p;

	p.t = t;
	p.sink = sink;
	p.clear = flags & WTRACK_CLEAR;
	p.stopped = flags & WTRACK_STOPPED;
	p.tried = p.kept = false;
	wt_soft_doubt_begin(&p.doubt, *at);
	if (wt_soft_check())
		take_unreadable(&p, at, s->end);
	else
		collect(&p, at, s->end);
	wt_soft_doubt_end(&p.doubt);
	/* Once folded, a page does not tell that it is part of a huge one. */
	wt_sink_flag_blocks(sink, before ? before - 1 : 0, wt_huge_size());
	if (p.kept)
		wt_count(&t->count.degraded, 1);
}
