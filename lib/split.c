/* SPDX-License-Identifier: MIT */
/* split.c: cuts a collection into parts for several threads. */
#include "fork.h"
#include "hot.h"
#include "sys.h"

#include <errno.h>

#define WT_API __attribute__((visibility("default")))

/*
 * Where a part may end: two threads in one page table would wait for each
 * other, and a huge page cut in two is split by the kernel.
 */
static uintptr_t round_up(uintptr_t addr)
{
	uintptr_t up = wt_huge_up(addr);

	return up < addr ? (uintptr_t)0 - wt_huge_size() : up;
}

/*
 * How many bytes are watched in [start, end), if that is less than `most`; else
 * `*at` is where that many end.
 */
static uint64_t watched(const struct wtrack *t, uintptr_t start, uintptr_t end,
			uint64_t most, uintptr_t *at)
{
	struct wt_range r[WT_LEAF_RANGES];
	uint64_t sum = 0;
	size_t n;

	while (start < end && (n = wt_table_peek(&t->table, start, r))) {
		for (size_t i = 0; i < n && r[i].start < end; i++) {
			uintptr_t lo = r[i].start > start ? r[i].start : start;
			uintptr_t hi = r[i].end < end ? r[i].end : end;

			if (hi - lo >= most - sum) {
				*at = lo + (most - sum);
				return most;
			}
			sum += hi - lo;
		}
		start = r[n - 1].end;
	}
	return sum;
}

/* Where the next of `left` parts of [start, end) begins; `end`: nowhere. */
static uintptr_t cut_behind(const struct wtrack *t, uintptr_t start,
			    uintptr_t end, size_t left)
{
	uintptr_t at = end, ignored;
	uint64_t all = watched(t, start, end, UINT64_MAX, &at);

	if (left == 1)
		return end;
	at = end;
	watched(t, start, end, all / left ? all / left : 1, &at);
	at = round_up(at);
	return at < end && watched(t, at, end, 1, &ignored) ? at : end;
}

/* What a pass over all of it, or a part of one, has to share out. */
static uint64_t share_of(const struct wtrack_cursor *at)
{
	return !at || !at->end ? WT_PASS : at->share;
}

WT_API ssize_t wtrack_split(struct wtrack *t, const struct wtrack_cursor *at,
			    struct wtrack_cursor *parts, size_t n)
{
	uintptr_t page = wt_page_size(), start = at ? at->next : 0, ignored;
	uintptr_t end = at && at->end ? at->end : ~(uintptr_t)0 & ~(page - 1);
	uint64_t rest = share_of(at), share = n ? rest / n : 0;
	size_t count = 0;

	if (!t || !parts || !n || n > WT_PASS || wt_cursor_is_bad(at))
		return -EINVAL;
	wt_fork_check();
	if (start >= end || !watched(t, start, end, 1, &ignored))
		return 0;
	if (!start)
		wt_hot_next_tick(t);
	while (count < n && start < end) {
		struct wtrack_cursor *c = &parts[count];

		c->next = start;
		c->end = start = cut_behind(t, start, end, n - count);
		c->share = start < end ? share : rest;
		c->reserved = 0;
		rest -= share;
		count++;
	}
	return (ssize_t)count;
}
