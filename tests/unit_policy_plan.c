/* SPDX-License-Identifier: MIT */
/* unit_policy_plan.c: how a piece of 2 MiB is armed, by what that costs. */
#include "support.h"

#include "policy.h"

/* Of one machine; what is tested holds for any. */
static const struct wt_costs costs = { .fault = 15000,
				       .arm = 7000,
				       .arm_page = 100,
				       .call = 3000,
				       .fused = 20000,
				       .look = 400 };
static const struct wt_policy exact = { WTRACK_POLICY_EXACT, 0, 0, 0, 0 };
static const struct wt_policy rescan = { WTRACK_POLICY_RESCAN, 1, 3, 6, 1500 };
static const struct wt_policy copy = { WTRACK_POLICY_COPY, 2, 1, 4, 4000 };

static struct wt_piece piece_of(unsigned runs, unsigned pages, unsigned holes)
{
	struct wt_piece piece = { .runs = runs,
				  .pages = pages,
				  .span = pages + holes,
				  .holes = holes };

	return piece;
}

static enum wt_plan plan_of(struct wt_piece piece)
{
	return wt_policy_plan(&exact, &piece, &costs);
}

static void nothing_to_arm_is_no_plan(void **state)
{
	struct wt_piece piece = piece_of(0, 0, 9);

	(void)state;
	for (int i = 0; i < 4; i++) {
		piece.stopped = i & 1;
		piece.whole = i & 2;
		assert_int_equal(plan_of(piece), WT_PLAN_NONE);
		assert_int_equal(wt_policy_plan(&copy, &piece, &costs),
				 WT_PLAN_NONE);
	}
}

static void one_run_is_armed_by_itself(void **state)
{
	(void)state;
	for (unsigned pages = 1; pages < 100; pages++)
		assert_int_equal(plan_of(piece_of(1, pages, 0)), WT_PLAN_RUNS);
}

static void many_runs_are_armed_together(void **state)
{
	(void)state;
	for (unsigned runs = 4; runs <= 256; runs++)
		assert_int_equal(plan_of(piece_of(runs, runs, 0)),
				 WT_PLAN_FUSED);
}

/* What a plan costs, reckoned anew; SIZE_MAX: it must not be made. */
static size_t cost_of(enum wt_plan plan, const struct wt_piece *piece)
{
	size_t runs = (size_t)piece->runs * costs.arm +
		      (size_t)(piece->pages - piece->runs) * costs.arm_page;
	size_t wide = costs.arm + (size_t)piece->span * costs.arm_page;
	size_t fused =
		costs.call + costs.fused + (size_t)piece->holes * costs.fault;

	if (plan == WT_PLAN_RUNS)
		return piece->whole && !piece->fixed ? SIZE_MAX
		       : piece->stopped && !piece->holes && wide < runs ? wide
									: runs;
	if (plan == WT_PLAN_FUSED)
		return piece->whole || piece->holes || piece->fixed ? SIZE_MAX
								    : fused;
	return plan == WT_PLAN_ALL && !piece->fixed ? fused : SIZE_MAX;
}

static void expect_cheapest(struct wt_piece piece)
{
	size_t cost = cost_of(plan_of(piece), &piece);

	assert_true(cost != SIZE_MAX);
	for (int other = WT_PLAN_RUNS; other <= WT_PLAN_ALL; other++)
		assert_true(cost <= cost_of((enum wt_plan)other, &piece));
}

static void the_cheapest_plan_is_made(void **state)
{
	(void)state;
	for (unsigned runs = 1; runs <= 128; runs++)
		for (unsigned more = 0; more <= 256; more += 8)
			for (unsigned holes = 0; holes <= 128; holes += 4) {
				struct wt_piece piece =
					piece_of(runs, runs + more, holes);

				for (int i = 0; i < 8; i++) {
					piece.stopped = i & 1;
					piece.whole = i & 2;
					piece.fixed = i & 4;
					piece.span =
						i & 1 ? 512
						      : runs + more + holes;
					expect_cheapest(piece);
				}
			}
}

/* A hot page that is armed faults, which is what holes are there to avoid. */
static void holes_are_armed_only_if_that_is_cheaper(void **state)
{
	bool seen = false;

	(void)state;
	for (unsigned holes = 1; holes < 256; holes++)
		for (unsigned runs = 1; runs <= 256; runs++) {
			enum wt_plan plan =
				plan_of(piece_of(runs, runs, holes));

			assert_true(plan == WT_PLAN_RUNS ||
				    plan == WT_PLAN_ALL);
			if (plan == WT_PLAN_ALL)
				assert_true(costs.call + costs.fused +
						    holes * costs.fault <
					    runs * costs.arm);
			seen |= plan == WT_PLAN_ALL;
		}
	assert_true(seen);
}

/* Clean pages between are worth less than one more call. */
static void the_stopped_arm_over_clean_pages(void **state)
{
	struct wt_piece piece = piece_of(5, 5, 0);

	(void)state;
	piece.span = 50;
	assert_int_equal(plan_of(piece), WT_PLAN_FUSED);
	piece.stopped = true;
	assert_int_equal(plan_of(piece), WT_PLAN_RUNS);
	piece.span = 512;
	assert_int_equal(plan_of(piece), WT_PLAN_FUSED);
	/* Not over pages that are to stay un-armed. */
	piece.span = 50;
	piece.runs = piece.pages = 20;
	piece.holes = 1;
	assert_int_equal(plan_of(piece), WT_PLAN_ALL);
}

/* What is advised to stay un-armed is not armed with what lies around it. */
static void some_pieces_are_armed_run_by_run_only(void **state)
{
	(void)state;
	for (unsigned runs = 1; runs <= 256; runs++)
		for (unsigned i = 0; i < 8; i++) {
			struct wt_piece piece = piece_of(runs, runs, i & 1);

			piece.fixed = true;
			piece.stopped = i & 2;
			piece.whole = i & 4;
			assert_int_equal(plan_of(piece), WT_PLAN_RUNS);
		}
}

/* Without a look before: where that and the arming would cost more. */
static void a_block_is_fused_again_while_that_is_cheaper(void **state)
{
	(void)state;
	for (unsigned runs = 1; runs <= 64; runs++)
		for (unsigned holes = 0; holes <= 8; holes++) {
			struct wt_piece piece = piece_of(runs, runs, holes);
			size_t arming = cost_of(WT_PLAN_RUNS, &piece);
			bool is = costs.fused + holes * costs.fault <
				  costs.look + arming;

			assert_int_equal(
				wt_policy_fuses(&exact, &piece, &costs), is);
			piece.fixed = true;
			assert_false(wt_policy_fuses(&exact, &piece, &costs));
		}
}

/* Or it would be fused for good, and never be put off again. */
static void what_is_best_put_off_is_not_fused(void **state)
{
	const struct wt_costs dear = { 700, 18000, 4, 2000, 17000, 700 };
	struct wt_piece piece = piece_of(1, 1, 0);

	(void)state;
	assert_int_equal(wt_policy_plan(&copy, &piece, &dear), WT_PLAN_DEFER);
	assert_false(wt_policy_fuses(&copy, &piece, &dear));
	assert_true(wt_policy_fuses(&exact, &piece, &dear));
	/* Nor when it has been, until it was cleared. */
	piece = piece_of(3, 3, 0);
	piece.deferred = 2;
	assert_false(wt_policy_fuses(&copy, &piece, &dear));
}

/* ---- putting off ---- */

/* Epochs that pass until a piece is armed that grows in each. */
static unsigned epochs_until_armed(const struct wt_policy *p,
				   struct wt_piece each)
{
	struct wt_piece piece = each;

	while (wt_policy_plan(p, &piece, &costs) == WT_PLAN_DEFER) {
		piece.deferred++;
		piece.runs += each.runs;
		piece.pages += each.pages;
		assert_true(piece.deferred <= 1u << p->to);
	}
	return piece.deferred;
}

static void what_is_put_off_is_armed_in_the_end(void **state)
{
	static const struct wt_policy *const policies[] = { &rescan, &copy };
	bool seen[2] = { false, false };

	(void)state;
	for (unsigned runs = 1; runs <= 64; runs++)
		for (unsigned holes = 0; holes <= 64; holes += 8)
			for (int i = 0; i < 4; i++) {
				struct wt_piece each =
					piece_of(runs, runs, holes);
				const struct wt_policy *p = policies[i & 1];
				unsigned most, n;

				each.whole = i & 2;
				n = epochs_until_armed(p, each);
				most = each.whole ? (1u << p->to) - 1 : 3;
				assert_in_range(n, 0, most);
				seen[i / 2] |= n > 0;
			}
	assert_true(seen[0] && seen[1]);
}

/* The same piece again and again: nothing new in it, but put off. */
static void what_does_not_grow_is_armed_in_the_end(void **state)
{
	struct wt_piece piece = piece_of(2, 2, 0);

	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		piece.whole = whole;
		for (piece.deferred = 0;
		     wt_policy_plan(&rescan, &piece, &costs) == WT_PLAN_DEFER;
		     piece.deferred++)
			assert_true(piece.deferred < 64);
	}
}

/* The count of epochs is kept in a byte: at its end it must not begin anew. */
static void what_is_put_off_for_long_is_armed_in_the_end(void **state)
{
	const struct wt_policy p = { WTRACK_POLICY_RESCAN, 1, 3, 17, 16 };
	struct wt_piece piece = piece_of(4, 4, 0);
	unsigned epochs = 0;

	(void)state;
	piece.whole = true;
	while (wt_policy_plan(&p, &piece, &costs) == WT_PLAN_DEFER) {
		piece.deferred = (uint8_t)(piece.deferred + 1);
		assert_true(++epochs < 256);
	}
	assert_true(epochs > 50);
}

/* What false pages cost meanwhile, and the arming, over the epochs. */
static void putting_off_pays(void **state)
{
	(void)state;
	for (unsigned pages = 1; pages <= 64; pages++) {
		struct wt_piece piece = piece_of(pages, pages, 0);
		size_t now, least = SIZE_MAX;

		piece.whole = true;
		now = costs.call + costs.fused;
		for (size_t n = 1; n < 64; n++) {
			size_t cost = (now + rescan.page_ns * pages * n *
						     (n + 1) / 2) /
				      (n + 1);

			least = cost < least ? cost : least;
		}
		assert_true(wt_policy_plan(&rescan, &piece, &costs) ==
				    WT_PLAN_ALL ||
			    least < now);
	}
	/* So dear a page that it does not pay, and one that costs nothing. */
	for (unsigned ns = 0; ns < 2; ns++) {
		struct wt_policy p = rescan;
		struct wt_piece piece = piece_of(1, 1, 0);

		p.page_ns = ns ? 100000 : 0;
		piece.whole = true;
		assert_int_equal(wt_policy_plan(&p, &piece, &costs),
				 WT_PLAN_ALL);
	}
}

static void a_room_that_arms_all_or_nothing_does_so(void **state)
{
	static const struct wt_policy *const policies[] = { &rescan, &copy,
							    &exact };
	bool seen[2] = { false, false };

	(void)state;
	for (unsigned i = 0; i < 3 * 512; i++) {
		struct wt_piece piece = piece_of(i % 512 + 1, 512, i % 7);
		enum wt_plan plan;

		piece.whole = true;
		plan = wt_policy_plan(policies[i / 512], &piece, &costs);
		assert_true(plan == WT_PLAN_ALL || plan == WT_PLAN_DEFER);
		piece = piece_of(1, 1, 0);
		piece.whole = true;
		plan = wt_policy_plan(policies[i / 512], &piece, &costs);
		seen[plan == WT_PLAN_DEFER] = true;
	}
	assert_true(seen[0] && seen[1]);
}

static void exact_puts_nothing_off(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4096; i++) {
		struct wt_piece piece =
			piece_of(i % 64 + 1, i % 64 + 1, i / 64 % 8);

		piece.whole = i / 512 % 2;
		piece.deferred = i / 1024;
		assert_int_not_equal(plan_of(piece), WT_PLAN_DEFER);
	}
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(nothing_to_arm_is_no_plan),
		CASE(one_run_is_armed_by_itself),
		CASE(many_runs_are_armed_together),
		CASE(the_cheapest_plan_is_made),
		CASE(holes_are_armed_only_if_that_is_cheaper),
		CASE(the_stopped_arm_over_clean_pages),
		CASE(some_pieces_are_armed_run_by_run_only),
		CASE(a_block_is_fused_again_while_that_is_cheaper),
		CASE(what_is_best_put_off_is_not_fused),
		CASE(what_is_put_off_is_armed_in_the_end),
		CASE(what_does_not_grow_is_armed_in_the_end),
		CASE(what_is_put_off_for_long_is_armed_in_the_end),
		CASE(putting_off_pays),
		CASE(a_room_that_arms_all_or_nothing_does_so),
		CASE(exact_puts_nothing_off),
	};

	return RUN_CASES("policy_plan", cases);
}
