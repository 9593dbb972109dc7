/* SPDX-License-Identifier: MIT */
/* snapshot.c: the stored answer of one epoch. */
#include "engine.h"
#include "fork.h"
#include "mem.h"
#include "sys.h"

#include <errno.h>

#define WT_API __attribute__((visibility("default")))

/* Few runs are the rule; so many more fit before each call. */
#define FIRST_RUNS ((size_t)1024)
#define CHUNK_RUNS ((size_t)512)

struct wtrack_snapshot {
	struct wtrack_run *runs;
	size_t n;
	size_t cap;
	size_t next; /* of the iteration */
	size_t pages;
	uint64_t epoch;
	uint64_t memory;
};

static int create(struct wtrack_snapshot **out)
{
	uint64_t memory = 0;
	struct wtrack_snapshot *s;
	void *p, *runs;
	int rc = wt_map(sizeof(*s), &p, &memory);

	if (rc)
		return rc;
	rc = wt_map(FIRST_RUNS * sizeof(s->runs[0]), &runs, &memory);
	if (rc) {
		wt_unmap(p, sizeof(*s), &memory);
		return rc;
	}
	s = p;
	s->runs = runs;
	s->cap = FIRST_RUNS;
	s->memory = memory;
	*out = s;
	return 0;
}

/* Doubles the array; false if there is no memory, and all is as it was. */
static bool grow(struct wtrack_snapshot *s)
{
	size_t bytes = s->cap * sizeof(s->runs[0]);
	void *p;

	if (wt_sys_mremap(s->runs, bytes, 2 * bytes, &p))
		return false;
	s->runs = p;
	s->cap *= 2;
	s->memory += bytes;
	return true;
}

/*
 * No memory for more runs: the last one is stretched over each further dirty
 * page and says that it is too wide. [G3]
 */
static void collect_wide(struct wtrack *t, uintptr_t *at, uintptr_t limit,
			 struct wtrack_run *last)
{
	struct wtrack_run runs[16];

	while (*at < limit) {
		struct wt_sink sink = { runs, 0, 16 };

		wt_collect(t, at, limit, &sink, WTRACK_GET | WTRACK_CLEAR);
		if (!sink.n)
			continue;
		for (size_t i = 0; i < sink.n; i++)
			last->flags |= runs[i].flags;
		/* cppcheck-suppress legacyUninitvar; the sink filled it */
		last->end = runs[sink.n - 1].end;
		last->flags |= WTRACK_RUN_DEGRADED;
		wt_count(&t->count.degraded, 1);
	}
}

static void fill(struct wtrack *t, struct wtrack_snapshot *s)
{
	uintptr_t limit = ~(uintptr_t)0 & ~(wt_page_size() - 1), at = 0;

	s->n = 0;
	while (at < limit) {
		struct wt_sink sink = { s->runs, s->n, s->cap };

		if (s->cap - s->n < CHUNK_RUNS && grow(s))
			continue;
		if (s->n == s->cap) {
			collect_wide(t, &at, limit, &s->runs[s->n - 1]);
			break;
		}
		wt_collect(t, &at, limit, &sink, WTRACK_GET | WTRACK_CLEAR);
		s->n = sink.n;
	}
}

WT_API int wtrack_snapshot(struct wtrack *t, struct wtrack_snapshot **out)
{
	struct wtrack_snapshot *s;
	size_t bytes = 0;
	int rc = 0;

	if (!t || !out)
		return -EINVAL;
	wt_fork_check();
	if (!*out)
		rc = create(out);
	if (rc)
		return rc;
	s = *out;
	fill(t, s);
	for (size_t i = 0; i < s->n; i++)
		bytes += s->runs[i].end - s->runs[i].start;
	s->pages = bytes >> wt_page_shift();
	s->next = 0;
	s->epoch = __atomic_fetch_add(&t->epoch, 1, __ATOMIC_RELAXED);
	wt_count(&t->count.collections, 1);
	wt_count(&t->count.runs, s->n);
	return 0;
}

WT_API int wtrack_snapshot_next(struct wtrack_snapshot *s,
				struct wtrack_run *run)
{
	if (!s || !run)
		return -EINVAL;
	if (s->next == s->n)
		return 0;
	*run = s->runs[s->next++];
	return 1;
}

WT_API void wtrack_snapshot_rewind(struct wtrack_snapshot *s)
{
	if (s)
		s->next = 0;
}

WT_API int wtrack_snapshot_contains(const struct wtrack_snapshot *s,
				    const void *addr)
{
	const uintptr_t at = wt_address(addr);
	size_t lo = 0, hi = s ? s->n : 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->runs[mid].end <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return s && lo < s->n && s->runs[lo].start <= at;
}

WT_API size_t wtrack_snapshot_pages(const struct wtrack_snapshot *s)
{
	return s ? s->pages : 0;
}

WT_API uint64_t wtrack_snapshot_epoch(const struct wtrack_snapshot *s)
{
	return s ? s->epoch : 0;
}

WT_API void wtrack_snapshot_free(struct wtrack_snapshot *s)
{
	uint64_t memory;

	if (!s)
		return;
	memory = s->memory;
	wt_unmap(s->runs, s->cap * sizeof(s->runs[0]), &memory);
	wt_unmap(s, sizeof(*s), &memory);
}
