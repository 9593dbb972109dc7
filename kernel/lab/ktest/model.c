/* SPDX-License-Identifier: MIT */
/* model.c: memory of each kind, and a model that each scan is held against. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const size_t sizes[MODEL_PARTS] = { 2 * HUGE_PAGES, 300, 212, 512 };
static const enum kind kinds[MODEL_PARTS] = { KIND_THP, KIND_ANON, KIND_SHMEM,
					      KIND_FILE };

void model_make(struct model *m)
{
	for (size_t i = 0; i < MODEL_PARTS; i++)
		m->first[i + 1] = m->first[i] + sizes[i];
	m->pages = m->first[MODEL_PARTS];
	m->start = reserve(m->pages * PAGE);
	m->page = calloc(m->pages, sizeof(*m->page));
	m->runs = calloc(m->pages, sizeof(*m->runs));
	check(m->page && m->runs, "no memory");
	for (size_t i = 0; i < MODEL_PARTS; i++) {
		map_at(kinds[i], m->start + m->first[i] * PAGE,
		       sizes[i] * PAGE);
		for (size_t p = 0; kinds[i] == KIND_FILE && p < sizes[i]; p++)
			m->page[m->first[i] + p].value = p;
	}
}

enum kind kind_of(const struct model *m, size_t page)
{
	size_t i = 0;

	while (page >= m->first[i + 1])
		i++;
	return kinds[i];
}

/* Few, many, a huge page, or to the end. */
struct stretch some_pages(struct model *m)
{
	struct stretch s = { .from = roll(&m->dice, m->pages) };
	size_t left;

	switch (roll(&m->dice, 4)) {
	case 0:
		s.n = 1 + roll(&m->dice, 4);
		break;
	case 1:
		s.n = 1 + roll(&m->dice, 700);
		break;
	case 2:
		s.from = s.from / HUGE_PAGES * HUGE_PAGES;
		s.n = HUGE_PAGES;
		break;
	default:
		s.from = roll(&m->dice, 2) ? 0 : s.from;
		s.n = m->pages;
	}
	left = m->pages - s.from;
	if (s.n > left)
		s.n = left;
	return s;
}

void model_check_contents(const struct model *m, struct stretch s)
{
	for (size_t i = s.from; i < s.from + s.n; i++) {
		uint64_t is = load(m->start + i * PAGE);

		check(is == m->page[i].value, "page %zu holds %llu, not %llu",
		      i, (unsigned long long)is,
		      (unsigned long long)m->page[i].value);
	}
}

struct wt_pm_scan_arg model_scan_of(struct model *m, struct stretch s,
				    size_t room, uint64_t flags)
{
	return scan_of(m->start + s.from * PAGE, s.n * PAGE,
		       room ? m->runs : NULL, room, flags);
}

static size_t page_at(const struct model *m, uint64_t address)
{
	return (size_t)(address - (uintptr_t)m->start) / PAGE;
}

/* From the last run to this one nothing may be un-armed. */
static void expect_armed(const struct model *m, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		check(m->page[i].armed, "page %zu is not reported", i);
}

static void follow_run(struct model *m, size_t from, size_t to, bool arms)
{
	for (size_t i = from; i < to; i++) {
		check(!m->page[i].armed || settings.coarse,
		      "page %zu is reported, and nobody wrote to it", i);
		m->page[i].armed |= arms;
	}
}

void model_scan(struct model *m, struct wt_pm_scan_arg *arg)
{
	bool arms = arg->flags & WT_PM_WP_MATCHING;
	size_t at = page_at(m, arg->start), end = page_at(m, arg->end);
	size_t found = 0, walked;
	long n = pagemap_scan(pagemap, arg);

	check(n >= 0 && (size_t)n <= arg->vec_len, "PAGEMAP_SCAN: %ld, %s", n,
	      strerror(errno));
	for (long i = 0; i < n; i++) {
		size_t from = page_at(m, m->runs[i].start);
		size_t to = page_at(m, m->runs[i].end);

		check(from >= at && to > from && to <= end,
		      "run %ld is [%zu, %zu), after page %zu", i, from, to, at);
		check(!i || from > at || !arg->vec_len ||
			      m->runs[i].categories !=
				      m->runs[i - 1].categories ||
			      i % 512 == 0,
		      "runs %ld and %ld could be one", i - 1, i);
		expect_armed(m, at, from);
		follow_run(m, from, to, arms);
		found += to - from;
		at = to;
	}
	check(!arg->max_pages || found <= arg->max_pages,
	      "%zu pages, limit %llu", found,
	      (unsigned long long)arg->max_pages);
	walked = page_at(m, arg->walk_end);
	if ((size_t)n < arg->vec_len &&
	    (!arg->max_pages || found < arg->max_pages))
		walked = end;
	check(walked > page_at(m, arg->start) && walked <= end,
	      "the walk ended at page %zu", walked);
	expect_armed(m, at, walked);
}
