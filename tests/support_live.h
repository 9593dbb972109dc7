/* SPDX-License-Identifier: MIT */
/*
 * support_live.h: what the live and model tests share beyond support.h.
 *
 * A view is the answer of a collection page by page.  A gate holds a thread in
 * the middle of a library call, at a kernel entry.  A team is some threads that
 * repeat a step until they are told to end.
 */
#ifndef SUPPORT_LIVE_H
#define SUPPORT_LIVE_H

#include "support.h"

#include <pthread.h>

#include "sys.h"

/* ---- views ---- */

/* As many as three huge pages are of pages of 64 KiB. */
#define VIEW_PAGES 24576

struct view {
	uint64_t flags[VIEW_PAGES]; /* WTRACK_RUN_*; 0: clean */
	size_t runs;
};

/*
 * Collects the whole handle, `nruns` runs a call, and checks what holds always:
 * ascending, no overlap, touching runs of one call differ in their flags, a
 * short answer only at the end.  Runs outside of `m` fail.
 */
void view_collect(struct view *v, struct wtrack *t, const struct mem *m,
		  size_t nruns, unsigned flags);
/*
 * These pages of `m` are dirty, and no others where the backend is precise, but
 * for those whose flags say why.
 */
void view_expect(const struct view *v, struct wtrack *t, const struct mem *m,
		 const size_t *pages, size_t n);
/* Collects with `f` and expects these pages. */
#define expect_pages(t, m, f, ...)                             \
	do {                                                   \
		struct view view_;                             \
		view_collect(&view_, t, m, 64, f);             \
		view_expect(&view_, t, m, PAGES(__VA_ARGS__)); \
	} while (0)
#define expect_none(t, m)                                   \
	do {                                                \
		struct view view_;                          \
		view_collect(&view_, t, m, 64, WTRACK_GET); \
		view_expect(&view_, t, m, NULL, 0);         \
	} while (0)
/* The flags of one page, looked at only. */
uint64_t look_at(struct wtrack *t, const struct mem *m, size_t page);

bool is_precise(struct wtrack *t);
/*
 * What a run of whole huge pages may be flagged as, written or not, where the
 * kernel is set to keep them [K-async-wide]; else 0.
 */
uint64_t kept_huge_flags(void);

/* ---- policies ---- */

/* The two that leave pages un-armed, with short waits: 2 to 8, and 2 to 4. */
extern const struct wtrack_policy rescan_soon;
extern const struct wtrack_policy copy_soon;
/* A handle with this policy; NULL: exact. */
struct wtrack *open_policy(const char *backend,
			   const struct wtrack_policy *policy);
/* Memory that was never watched: nothing is kept of it yet. */
struct mem map_unknown(size_t pages);
/* Whether it decides page by page there: not on "softdirty" and "all". */
bool decides_by_page(const char *backend);

static inline char *page_of(const struct mem *m, size_t page)
{
	return m->base + page * m->page;
}

/* A store to a page, and the watching of some pages of a memory. */
void store(const struct mem *m, size_t page);
void watch_pages(struct wtrack *t, const struct mem *m, size_t page, size_t n,
		 unsigned flags);
void unwatch_pages(struct wtrack *t, const struct mem *m, size_t page,
		   size_t n);

/* Calls `f` for each kind of memory there is, and tells which there is not. */
void for_each_kind(void (*f)(struct wtrack *t, enum mem_kind kind),
		   const char *backend);

/* ---- randomness: the same for the same seed ---- */

struct dice {
	uint64_t state;
};

/* Below `n`. */
size_t roll(struct dice *d, size_t n);
/* The number in this environment variable, or `otherwise`. */
unsigned long env_number(const char *name, unsigned long otherwise);

/* ---- a gate ---- */

/* The calling thread's next kernel entry `id` waits, until gate_open(). */
void gate_set(enum wt_sys id, int nth);
/* Until a thread waits at the gate. */
void gate_await(void);
void gate_open(void);
/* Tells whoever awaits the gate that it will not be met. */
void gate_pass(void);

/* The `nth` entry `id` of any thread fails with `error`, `times` times. */
void fail_entry(enum wt_sys id, int nth, int times, long error);
void fail_no_more(void);

/* ---- a team ---- */

#define TEAM_MOST 16

struct team {
	pthread_t thread[TEAM_MOST];
	struct teammate {
		struct team *team;
		size_t number;
		void (*step)(struct teammate *self);
		struct dice dice;
		uint64_t steps;
	} mate[TEAM_MOST];
	size_t n;
	void *context;
	int ended;         /* atomic */
	const char *wrong; /* atomic: what a member found, or NULL */
};

/* Threads that call `step` again and again, one each call of team_add(). */
void team_init(struct team *team, void *context);
void team_add(struct team *team, void (*step)(struct teammate *self));
/* Members do not use cmocka's asserts: they report here. */
void team_wrong(struct team *team, const char *what);
/* Ends all, and fails if something was wrong. */
void team_end(struct team *team);

/* Until `seconds` have gone since `*since`, which is 0 at first. */
bool time_left(double *since, double seconds);

#endif
