/* SPDX-License-Identifier: MIT */
/* unit_policy_pages.c: a page's way from cold to hot and back, in epochs. */
#include "support.h"

#include "policy.h"

#define START 1000u

static const struct wt_policy policies[] = {
	{ WTRACK_POLICY_RESCAN, 1, 1, 3, 1500 },
	{ WTRACK_POLICY_RESCAN, 1, 3, 6, 1500 },
	{ WTRACK_POLICY_COPY, 2, 1, 4, 4000 },
	{ WTRACK_POLICY_COPY, 3, 2, 9, 4000 },
	{ WTRACK_POLICY_COPY, 4, 4, 4, 4000 },
	{ WTRACK_POLICY_RESCAN, 1, 6, 7, 1500 },
};

#define N_POLICIES (sizeof(policies) / sizeof(policies[0]))

/* A page that is found dirty in every epoch that is played. */
struct page {
	const struct wt_policy *p;
	uintptr_t number;
	uint8_t byte;
	unsigned tick;
	struct wt_next last;
};

static void clear(struct page *page)
{
	page->last =
		wt_policy_next(page->p, page->byte, page->tick, page->number);
	page->byte = page->last.byte;
	page->tick++;
}

static bool is_hot(const struct page *page)
{
	return (page->byte & WT_BYTE_KIND) == WT_BYTE_HOT;
}

static struct page page_of(const struct wt_policy *p, uintptr_t number,
			   unsigned tick)
{
	struct page page = { p, number, WT_BYTE_FRESH, tick, { 0 } };

	return page;
}

/* The same, dirty until it is hot. */
static struct page hot_page_of(const struct wt_policy *p, uintptr_t number,
			       unsigned tick)
{
	struct page page = page_of(p, number, tick);

	for (unsigned i = 0; i < p->after; i++)
		clear(&page);
	assert_true(is_hot(&page));
	return page;
}

/* Epochs until a hot page is armed again. */
static unsigned wait_of(struct page *page)
{
	unsigned epochs = 0;

	assert_true(is_hot(page));
	do {
		clear(page);
		epochs++;
		assert_false(page->last.proved);
		assert_true(epochs <= 1u << page->p->to);
	} while (is_hot(page));
	assert_true(wt_byte_is_probe(page->byte) && page->last.arm);
	return epochs;
}

static void so_many_epochs_running_make_hot(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_POLICIES; i++) {
		struct page page = page_of(&policies[i], i, START);

		for (unsigned n = 1; n < policies[i].after; n++) {
			clear(&page);
			assert_true(page.last.arm && !is_hot(&page));
		}
		clear(&page);
		assert_true(!page.last.arm && is_hot(&page));
	}
}

/* Of whatever length, but for those that the low bits mistake. */
static void an_epoch_without_a_store_begins_anew(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_POLICIES; i++)
		for (unsigned gap = 1; gap < 40; gap++) {
			struct page page = page_of(&policies[i], i, START);

			if (policies[i].after < 2)
				continue;
			for (unsigned n = 1; n < policies[i].after; n++)
				clear(&page);
			page.tick += gap;
			clear(&page);
			assert_int_equal(is_hot(&page), gap % 16 == 0);
			if (gap % 16 == 0)
				continue;
			for (unsigned n = 2; n < policies[i].after; n++) {
				assert_true(page.last.arm);
				clear(&page);
			}
			clear(&page);
			assert_true(is_hot(&page));
		}
}

static void waits_double_while_re_checks_are_proved(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_POLICIES; i++)
		for (uintptr_t number = 0; number < 100; number++) {
			const struct wt_policy *p = &policies[i];
			struct page page = hot_page_of(p, number, START);

			for (unsigned level = 0; level < 10; level++) {
				unsigned shift = p->from + level;
				unsigned n = 1u
					     << (shift < p->to ? shift : p->to);

				assert_in_range(wait_of(&page), n / 2, n);
				clear(&page);
				assert_true(is_hot(&page) && page.last.proved);
				assert_false(page.last.arm);
			}
		}
}

/* Or re-checks come in bursts: no wait is had by more than half of them. */
static void waits_are_spread(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_POLICIES; i++) {
		unsigned n = 1u << policies[i].from, had[1025] = { 0 };

		for (uintptr_t number = 0; number < 4096; number++) {
			struct page page =
				hot_page_of(&policies[i], number, START);

			had[wait_of(&page)]++;
		}
		for (unsigned wait = 0; wait <= n; wait++)
			assert_true(had[wait] < 4096 * 3 / (n / 2 + 1));
	}
}

/* The same page does not wait equally long each time either. */
static void a_page_does_not_always_wait_as_long(void **state)
{
	unsigned first, other = 0;

	(void)state;
	for (unsigned tick = START; tick < START + 50; tick++) {
		struct page page = hot_page_of(&policies[1], 77, START);

		first = wait_of(&page);
		page = hot_page_of(&policies[1], 77, tick);
		other += wait_of(&page) != first;
	}
	assert_true(other > 10);
}

static void a_re_check_that_finds_nothing_makes_cold(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_POLICIES; i++)
		for (unsigned gap = 1; gap < 30; gap++) {
			struct page page = hot_page_of(&policies[i], 5, START);
			unsigned left = policies[i].after;

			wait_of(&page);
			page.tick += gap;
			clear(&page);
			assert_int_equal(page.last.proved, gap % 8 == 0);
			if (page.last.proved)
				continue;
			/* Now it takes as long as ever, and waits shortly. */
			while (--left) {
				assert_true(page.last.arm);
				clear(&page);
			}
			assert_in_range(wait_of(&page), 1,
					1u << policies[i].from);
		}
}

/* [G1] is the room's, but whoever is advised so pays no fault. */
static void what_is_kept_is_never_armed(void **state)
{
	static const struct wt_policy exact = { WTRACK_POLICY_EXACT, 0, 0, 0,
						0 };

	(void)state;
	for (size_t i = 0; i <= N_POLICIES; i++) {
		struct page page = page_of(
			i < N_POLICIES ? &policies[i] : &exact, i, START);

		page.byte = WT_BYTE_KEPT;
		for (unsigned n = 0; n < 2000; n++) {
			clear(&page);
			assert_true(!page.last.arm && !page.last.proved);
			assert_int_equal(page.byte, WT_BYTE_KEPT);
		}
	}
}

static void exact_arms_hot_pages_at_once(void **state)
{
	static const struct wt_policy exact = { WTRACK_POLICY_EXACT, 0, 0, 0,
						0 };

	(void)state;
	for (unsigned gap = 0; gap < 40; gap++) {
		struct page page = hot_page_of(&policies[1], 3, START);

		page.p = &exact;
		page.tick += gap;
		for (unsigned n = 0; n < 100; n++) {
			clear(&page);
			assert_true(page.last.arm && !is_hot(&page));
		}
	}
}

static void a_mark_or_a_delay_counts_as_one_epoch(void **state)
{
	static const uint8_t bytes[] = { WT_BYTE_FRESH, WT_BYTE_MARKED,
					 WT_BYTE_DEFERRED };

	(void)state;
	for (size_t i = 0; i < 3 * N_POLICIES; i++) {
		struct page page = page_of(&policies[i / 3], 9, START);

		page.byte = bytes[i % 3];
		for (unsigned n = 1; n < policies[i / 3].after; n++) {
			clear(&page);
			assert_true(page.last.arm);
		}
		clear(&page);
		assert_true(is_hot(&page));
	}
}

/* The handle's tick goes over the end of its type, in each stage. */
static void the_end_of_the_tick_is_no_epoch_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_POLICIES; i++)
		for (unsigned before = 0; before < 70; before++) {
			struct page page =
				hot_page_of(&policies[i], before, 0u - before);
			unsigned n = 1u << policies[i].from;

			assert_in_range(wait_of(&page), n / 2, n);
			clear(&page);
			assert_true(page.last.proved);
			wait_of(&page);
		}
}

/* ---- caution: more epochs running, where most re-checks find nothing ---- */

static void clean_re_checks_make_cautious(void **state)
{
	unsigned caution = 0;

	(void)state;
	for (unsigned i = 1; i < 10; i++) {
		caution = wt_policy_caution(caution, 1000, 100, 1);
		assert_int_equal(caution,
				 i < WT_CAUTION_MOST ? i : WT_CAUTION_MOST);
	}
	/* Few say nothing; and most of them may as well be dirty. */
	assert_int_equal(wt_policy_caution(0, 8, 0, 1000), 0);
	assert_int_equal(wt_policy_caution(0, 1000, 900, 1), 0);
	assert_int_equal(wt_policy_caution(0, 0, 0, 0), 0);
}

/* Not at once, or it would come and go; but in the end. */
static void caution_goes_with_time(void **state)
{
	uint64_t since = 0;

	(void)state;
	for (unsigned caution = WT_CAUTION_MOST; caution; caution--) {
		assert_int_equal(wt_policy_caution(caution, 0, 0, 1), caution);
		for (since = 0;
		     wt_policy_caution(caution, 0, 0, since) == caution;
		     since++)
			assert_true(since < 1000);
		assert_int_equal(wt_policy_caution(caution, 0, 0, since),
				 caution - 1);
		assert_true(since > 1);
	}
	assert_int_equal(wt_policy_caution(0, 0, 0, UINT64_MAX), 0);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(so_many_epochs_running_make_hot),
		CASE(an_epoch_without_a_store_begins_anew),
		CASE(waits_double_while_re_checks_are_proved),
		CASE(waits_are_spread),
		CASE(a_page_does_not_always_wait_as_long),
		CASE(a_re_check_that_finds_nothing_makes_cold),
		CASE(what_is_kept_is_never_armed),
		CASE(exact_arms_hot_pages_at_once),
		CASE(a_mark_or_a_delay_counts_as_one_epoch),
		CASE(the_end_of_the_tick_is_no_epoch_of_its_own),
		CASE(clean_re_checks_make_cautious),
		CASE(caution_goes_with_time),
	};

	return RUN_CASES("policy_pages", cases);
}
