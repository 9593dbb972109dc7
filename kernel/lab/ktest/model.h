/* SPDX-License-Identifier: MIT */
/*
 * model.h: what memory must hold and which of its pages must be armed, page by
 * page, beside the memory itself.
 */
#ifndef KTEST_MODEL_H
#define KTEST_MODEL_H

#include "ktest.h"

struct page_model {
	uint64_t value;
	bool armed;
};

#define MODEL_PARTS 4

struct model {
	char *start;
	size_t pages;
	size_t first[MODEL_PARTS + 1]; /* of each kind's part, in order */
	struct page_model *page;
	struct wt_page_region *runs;
	struct dice dice;
	uint64_t value; /* the last one that was stored */
};

struct stretch {
	size_t from, n;
};

void model_make(struct model *m);
struct stretch some_pages(struct model *m);
enum kind kind_of(const struct model *m, size_t page);

/* Loads each page, which must hold what the model says. */
void model_check_contents(const struct model *m, struct stretch s);
/* One call, and what it reported against the model, which then follows it. */
void model_scan(struct model *m, struct wt_pm_scan_arg *arg);
/* A scan with the masks of the short loops. */
struct wt_pm_scan_arg model_scan_of(struct model *m, struct stretch s,
				    size_t room, uint64_t flags);

#endif
