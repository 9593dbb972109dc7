/* SPDX-License-Identifier: MIT */
/* scene.c: one range of many mappings. */
#include "scene.h"

#include <string.h>

static const struct part plan[PARTS] = {
	{ "huge pages", KIND_THP, 0, 2 * HUGE_PAGES, true, false },
	{ "small pages", KIND_ANON, 0, 2 * HUGE_PAGES, true, false },
	{ "a hole", KIND_ANON, 0, HUGE_PAGES, false, false },
	{ "swap entries", KIND_ANON, 0, HUGE_PAGES, true, true },
	{ "shmem", KIND_SHMEM, 0, HUGE_PAGES, true, false },
	{ "a private file", KIND_FILE, 0, HUGE_PAGES, true, false },
	{ "few pages", KIND_ANON, 0, 37, true, false },
	{ "empty huge pages", KIND_THP, 0, 2 * HUGE_PAGES - 37, false, false },
};

static char *part_start(const struct scene *s, const struct part *part)
{
	return s->start + part->first * PAGE;
}

void scene_swap_out(const struct scene *s)
{
	for (size_t i = 0; i < PARTS; i++)
		if (s->parts[i].swapped &&
		    counter("/proc/meminfo", "SwapTotal") > 0)
			swap_out(part_start(s, &s->parts[i]),
				 s->parts[i].pages * PAGE);
}

struct scene make_scene(void)
{
	struct scene s = { 0 };

	memcpy(s.parts, plan, sizeof(plan));
	for (size_t i = 0; i < PARTS; i++) {
		s.parts[i].first = s.pages;
		s.pages += plan[i].pages;
	}
	s.start = reserve(s.pages * PAGE);
	for (size_t i = 0; i < PARTS; i++) {
		const struct part *part = &s.parts[i];
		char *start = part_start(&s, part);

		map_at(part->kind, start, part->pages * PAGE);
		for (size_t p = 0; part->populated && p < part->pages; p++)
			store(start + p * PAGE, 1);
	}
	scene_swap_out(&s);
	return s;
}

static void store_to(const struct scene *s, size_t page, unsigned char *want)
{
	char *at = s->start + page * PAGE;

	store(at, load(at) + 1);
	want[page] = 1;
}

void store_some(const struct scene *s, size_t n, struct dice *dice,
		unsigned char *want)
{
	for (size_t i = 0; i < PARTS; i++)
		for (size_t k = 0; k < n; k++)
			store_to(s,
				 s->parts[i].first +
					 roll(dice, s->parts[i].pages),
				 want);
}

void store_every(const struct scene *s, size_t step, size_t rest,
		 unsigned char *want)
{
	for (size_t page = rest; page < s->pages; page += step)
		store_to(s, page, want);
}
