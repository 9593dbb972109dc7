/* SPDX-License-Identifier: MIT */
/* sink.c: the merging of dirty stretches into runs. */
#include "sink.h"
#include "uapi.h"

#include <string.h>

_Static_assert(sizeof(struct wtrack_run) == sizeof(struct wt_page_region),
	       "the kernel stores runs into the caller's array");
_Static_assert(offsetof(struct wtrack_run, end) ==
		       offsetof(struct wt_page_region, end),
	       "same order of fields");
_Static_assert(WTRACK_RUN_WRITTEN == WT_PAGE_IS_WRITTEN,
	       "a category is a run's flags");

static bool extends(const struct wtrack_run *last, uintptr_t start,
		    uint64_t flags)
{
	return last->end == start && last->flags == flags;
}

bool wt_sink_add(struct wt_sink *s, uintptr_t start, uintptr_t end,
		 uint64_t flags)
{
	if (start == end)
		return true;
	if (s->n && extends(&s->runs[s->n - 1], start, flags)) {
		s->runs[s->n - 1].end = end;
		return true;
	}
	if (s->n == s->cap)
		return false;
	s->runs[s->n].start = start;
	s->runs[s->n].end = end;
	s->runs[s->n].flags = flags;
	s->n++;
	return true;
}

struct wtrack_run *wt_sink_tail(const struct wt_sink *s, size_t *room)
{
	*room = s->cap - s->n;
	return s->runs + s->n;
}

void wt_sink_commit(struct wt_sink *s, size_t count, size_t stride)
{
	struct wtrack_run *from = s->runs + s->n, *to = from;

	while (count) {
		size_t n = count < stride ? count : stride;
		const struct wtrack_run *next = from + n;

		if (to > s->runs &&
		    extends(&to[-1], from->start, from->flags)) {
			to[-1].end = from->end;
			from++;
			n--;
		}
		if (to != from)
			memmove(to, from, n * sizeof(*to));
		to += n;
		from = s->runs + (next - s->runs);
		count -= count < stride ? count : stride;
	}
	s->n = (size_t)(to - s->runs);
}

void wt_sink_flag_blocks(struct wt_sink *s, size_t from, size_t block)
{
	for (size_t i = from; i < s->n; i++) {
		uintptr_t up = (s->runs[i].start + block - 1) & ~(block - 1);

		if (up + block <= s->runs[i].end)
			s->runs[i].flags |= WTRACK_RUN_COARSE;
	}
}

void wt_sink_join(struct wt_sink *s, size_t from)
{
	size_t n = from;

	for (size_t i = from; i < s->n; i++) {
		const struct wtrack_run run = s->runs[i];

		if (n && extends(&s->runs[n - 1], run.start, run.flags))
			s->runs[n - 1].end = run.end;
		else
			s->runs[n++] = run;
	}
	s->n = n;
}
