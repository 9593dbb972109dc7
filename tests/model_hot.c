/* SPDX-License-Identifier: MIT */
/*
 * model_hot.c: writers that a policy does not expect, epoch by epoch.
 *
 * Some see what is armed and write where and when it hurts most.  Whatever they
 * do, and whatever is the cheapest way to arm, what was written is reported
 * [G1], what was not says in its flags why it is [G2], and when they have
 * stopped all becomes clean within a bound.
 */
#include "support_costs.h"
#include "support_live.h"

#include <inttypes.h>
#include <string.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)
/* Two page tables; an emulated processor plays all of it, too. */
#define PAGES_N 1024
#define HOT_N   128
#define EPOCHS  31

struct scene {
	struct wtrack *t;
	struct mem m;
	struct dice dice;
	struct view v;
	bool written[PAGES_N];
	/* Known by a look after each clearing: armed now, and an epoch ago. */
	bool armed[PAGES_N];
	bool was_armed[PAGES_N];
	uint64_t stores;
};

/* Whether the page is written in this epoch. */
typedef bool writer_fn(struct scene *s, size_t epoch, size_t page);

/* ---- writers ---- */

static bool always(struct scene *s, size_t epoch, size_t page)
{
	(void)s;
	(void)epoch;
	return page < HOT_N;
}

static bool moves(struct scene *s, size_t epoch, size_t page)
{
	size_t first = epoch / 3 * 200 % PAGES_N;

	(void)s;
	return (page - first) % PAGES_N < HOT_N;
}

/* In turn: each is hot for a while, while the others cool down. */
static bool every_other(struct scene *s, size_t epoch, size_t page)
{
	(void)s;
	return page < 2 * HOT_N && page % 2 == epoch / 7 % 2;
}

static bool all_at_once(struct scene *s, size_t epoch, size_t page)
{
	(void)s;
	(void)page;
	return epoch % 10 == 0 || (epoch > 20 && epoch < 28);
}

static bool never(struct scene *s, size_t epoch, size_t page)
{
	(void)s;
	(void)epoch;
	(void)page;
	return false;
}

static bool scattered(struct scene *s, size_t epoch, size_t page)
{
	(void)epoch;
	return (page < HOT_N && roll(&s->dice, 8)) || !roll(&s->dice, 50);
}

/* Each store is a fault, and no page that is un-armed was worth it. */
static bool what_is_armed(struct scene *s, size_t epoch, size_t page)
{
	return page < HOT_N && (epoch < 4 || s->armed[page]);
}

/* Each re-check finds a page clean that is written again at once. */
static bool what_was_armed(struct scene *s, size_t epoch, size_t page)
{
	return page < HOT_N &&
	       (epoch < 4 || (s->was_armed[page] && s->armed[page]));
}

/* Each re-check was one too many. */
static bool what_is_not_armed(struct scene *s, size_t epoch, size_t page)
{
	return page < HOT_N && (epoch < 20 || !s->armed[page]);
}

/* ---- epochs ---- */

static void check_page(const struct scene *s, size_t epoch, size_t page)
{
	uint64_t known =
		WTRACK_RUN_WRITTEN | WTRACK_RUN_PRESUMED | kept_huge_flags();
	uint64_t flags = s->v.flags[page];
	const char *wrong = NULL;

	/* [K-soft-new] It cannot tell, and says so. */
	if (!(caps_of(s->t) & WTRACK_CAP_CONCURRENT))
		known |= WTRACK_RUN_DEGRADED | WTRACK_RUN_COARSE;
	if (s->written[page] && !flags)
		wrong = "was written and is not reported";
	else if (!is_precise(s->t))
		return;
	else if (!s->written[page] && flags == WTRACK_RUN_WRITTEN)
		wrong = "was not written and is reported so";
	else if (flags & ~known)
		wrong = "was degraded";
	if (wrong)
		fail_msg("epoch %zu, page %zu %s: %#" PRIx64, epoch, page,
			 wrong, flags);
}

/* What a look tells, and nobody else. */
static void look(struct scene *s)
{
	memcpy(s->was_armed, s->armed, sizeof(s->armed));
	view_collect(&s->v, s->t, &s->m, 4096, WTRACK_GET);
	for (size_t i = 0; i < PAGES_N; i++)
		s->armed[i] = !s->v.flags[i];
}

static void play_epoch(struct scene *s, size_t epoch, writer_fn *writes)
{
	for (size_t i = 0; i < PAGES_N; i++) {
		s->written[i] = writes(s, epoch, i);
		if (s->written[i])
			store(&s->m, i);
		s->stores += s->written[i];
	}
	/* An answer in parts is as good. */
	view_collect(&s->v, s->t, &s->m, epoch % 2 ? 4096 : 97, BOTH);
	for (size_t i = 0; i < PAGES_N; i++)
		check_page(s, epoch, i);
	look(s);
}

static void cool_down(struct scene *s, const struct wtrack_policy *p)
{
	size_t most = 2 * p->to + p->after + 2;

	for (size_t i = 0; i < most; i++)
		play_epoch(s, EPOCHS + i, never);
	if (is_precise(s->t))
		for (size_t i = 0; i < PAGES_N; i++)
			assert_true(s->armed[i]);
	/* And clean pages are tracked as before. */
	play_epoch(s, EPOCHS + most, always);
}

static void check_stats(struct scene *s, writer_fn *writes, enum ways way)
{
	struct wtrack_stats stats = stats_of(s->t);

	/* Their sum may be more: what was written long after counts again. */
	assert_true(stats.rechecks >= stats.rechecks_dirty &&
		    stats.rechecks >= stats.rechecks_clean);
	if (writes == never) {
		assert_int_equal(stats.rechecks, 0);
		return;
	}
	if (way == RUNS_CHEAP) {
		assert_true(stats.rechecks > 0 && stats.rechecks_clean > 0);
		assert_true(stats.faults_avoided > 0 && stats.presumed > 0);
		assert_int_equal(stats.arms_fused + stats.deferred, 0);
	}
	/* Half of the epochs at least are waits; more of those that double. */
	if (way == RUNS_CHEAP && writes == always) {
		assert_true(stats.faults < s->stores / 2);
		assert_true(stats.rechecks_dirty > 0);
	}
	if (way == FUSED_CHEAP && writes == always)
		assert_true(stats.arms_fused > 0);
	if (way == WAITING_CHEAP && writes == scattered)
		assert_true(stats.deferred > 0);
}

static void play(const char *backend, const struct wtrack_policy *p,
		 writer_fn *writes, enum ways way)
{
	static struct scene s;

	memset(&s, 0, sizeof(s));
	s.t = open_policy(backend, p);
	pretend_costs(s.t, way);
	s.m = mem_map(MEM_ANON, PAGES_N, true);
	watch_pages(s.t, &s.m, 0, PAGES_N, 0);
	for (size_t i = 0; i < EPOCHS; i++)
		play_epoch(&s, i, writes);
	cool_down(&s, p);
	if (decides_by_page(backend))
		check_stats(&s, writes, way);
	pretend_costs(s.t, AS_MEASURED);
	wtrack_close(s.t);
	mem_unmap(&s.m);
}

static void play_both(void **state, writer_fn *writes)
{
	/* Hot at once, whatever is cheap; and later, where that shows most. */
	for (int way = RUNS_CHEAP; way < N_WAYS; way++)
		play(*state, &rescan_soon, writes, (enum ways)way);
	play(*state, &copy_soon, writes, AS_MEASURED);
}

static void a_steady_set(void **state)
{
	play_both(state, always);
}

static void a_set_that_moves(void **state)
{
	play_both(state, moves);
	play_both(state, every_other);
}

static void everything_at_once(void **state)
{
	play_both(state, all_at_once);
}

static void nothing(void **state)
{
	play_both(state, never);
}

static void scattered_pages(void **state)
{
	play_both(state, scattered);
}

static void stores_to_armed_pages_only(void **state)
{
	play_both(state, what_is_armed);
}

static void stores_just_after_a_re_check(void **state)
{
	play_both(state, what_was_armed);
}

static void stores_to_presumed_pages_only(void **state)
{
	play_both(state, what_is_not_armed);
}

const bool only_threads = true;

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(a_steady_set),
		CASE_EACH(a_set_that_moves),
		CASE_EACH(everything_at_once),
		CASE_EACH(nothing),
		CASE_EACH(scattered_pages),
		CASE_EACH(stores_to_armed_pages_only),
		CASE_EACH(stores_just_after_a_re_check),
		CASE_EACH(stores_to_presumed_pages_only),
	};

	return RUN_CASES("model_hot", cases);
}
