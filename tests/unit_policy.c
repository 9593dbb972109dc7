/* SPDX-License-Identifier: MIT */
/* unit_policy.c: the parameters of a policy, and what becomes of a page. */
#include "support.h"

#include "policy.h"
#include "region.h"

#include <string.h>

/* ---- parameters ---- */

static struct wt_policy read_ok(struct wtrack_policy in)
{
	struct wt_policy out;

	memset(&out, 0xff, sizeof(out));
	assert_int_equal(wt_policy_read(&in, &out), 0);
	return out;
}

static void expect_policy(const struct wt_policy *p, unsigned after,
			  unsigned from, unsigned to, uint32_t page_ns)
{
	assert_int_equal(p->after, after);
	assert_int_equal(1u << p->from, from);
	assert_int_equal(1u << p->to, to);
	assert_int_equal(p->page_ns, page_ns);
}

static void zeroes_are_the_defaults_of_the_kind(void **state)
{
	struct wt_policy p;

	(void)state;
	p = read_ok(
		(struct wtrack_policy)WTRACK_POLICY_INIT(WTRACK_POLICY_EXACT));
	assert_int_equal(p.kind, WTRACK_POLICY_EXACT);
	assert_int_equal(p.after, 0);
	p = read_ok(
		(struct wtrack_policy)WTRACK_POLICY_INIT(WTRACK_POLICY_RESCAN));
	assert_int_equal(p.kind, WTRACK_POLICY_RESCAN);
	expect_policy(&p, 1, 8, 64, 1500);
	p = read_ok(
		(struct wtrack_policy)WTRACK_POLICY_INIT(WTRACK_POLICY_COPY));
	assert_int_equal(p.kind, WTRACK_POLICY_COPY);
	expect_policy(&p, 2, 2, 16, 4000);
}

/* Those that are given; the others stay the kind's. */
static void fields_are_taken_one_by_one(void **state)
{
	struct wtrack_policy in = WTRACK_POLICY_INIT(WTRACK_POLICY_COPY);
	struct wt_policy p;

	(void)state;
	in.after = 4;
	p = read_ok(in);
	expect_policy(&p, 4, 2, 16, 4000);
	in.from = 8;
	p = read_ok(in);
	expect_policy(&p, 4, 8, 16, 4000);
	in.page_ns = 1600;
	p = read_ok(in);
	expect_policy(&p, 4, 8, 16, 1600);
	in.to = 8;
	p = read_ok(in);
	expect_policy(&p, 4, 8, 8, 1600);
	/* A beginning beyond the default end moves that. */
	in.to = 0;
	in.from = 1024;
	p = read_ok(in);
	expect_policy(&p, 4, 1024, 1024, 1600);
}

static int read_of(uint32_t kind, uint32_t after, uint32_t from, uint32_t to,
		   uint32_t page_ns)
{
	struct wtrack_policy in = {
		sizeof(in), kind, after, from, to, page_ns
	};
	struct wt_policy out;

	return wt_policy_read(&in, &out);
}

static void each_field_has_its_bounds(void **state)
{
	const uint32_t kind = WTRACK_POLICY_RESCAN, most = 0xffff0;

	(void)state;
	assert_int_equal(read_of(3, 0, 0, 0, 0), -EINVAL);
	assert_int_equal(read_of(UINT32_MAX, 0, 0, 0, 0), -EINVAL);
	for (uint32_t n = 0; n < 5000; n++) {
		bool power = !(n & (n - 1));
		bool from = !n || (power && n >= 2 && n <= 1024);
		bool to = !n || (power && n >= 2 && n <= 256);

		assert_int_equal(read_of(kind, n, 0, 0, 0),
				 n <= 4 ? 0 : -EINVAL);
		assert_int_equal(read_of(kind, 0, n, 0, 0), from ? 0 : -EINVAL);
		assert_int_equal(read_of(kind, 0, 2, n, 0), to ? 0 : -EINVAL);
	}
	assert_int_equal(read_of(kind, 0, 1024, 128 * 1024, 0), 0);
	assert_int_equal(read_of(kind, 0, 1024, 256 * 1024, 0), -EINVAL);
	assert_int_equal(read_of(kind, 0, 16, 8, 0), -EINVAL);
	assert_int_equal(read_of(kind, 0, 0, 4, 0), -EINVAL);
	assert_int_equal(read_of(kind, 0, UINT32_MAX, 0, 0), -EINVAL);
	assert_int_equal(read_of(kind, 0, 0, 1u << 31, 0), -EINVAL);
	assert_int_equal(read_of(kind, 0, 0, 0, most), 0);
	assert_int_equal(read_of(kind, 0, 0, 0, most + 1), -EINVAL);
	assert_int_equal(read_of(kind, 0, 0, 0, UINT32_MAX), -EINVAL);
}

static void exact_has_no_parameters(void **state)
{
	(void)state;
	assert_int_equal(read_of(WTRACK_POLICY_EXACT, 1, 0, 0, 0), -EINVAL);
	assert_int_equal(read_of(WTRACK_POLICY_EXACT, 0, 2, 0, 0), -EINVAL);
	assert_int_equal(read_of(WTRACK_POLICY_EXACT, 0, 0, 2, 0), -EINVAL);
	assert_int_equal(read_of(WTRACK_POLICY_EXACT, 0, 0, 0, 16), -EINVAL);
}

static void a_shorter_struct_has_zeroes_behind(void **state)
{
	struct wtrack_policy in = { offsetof(struct wtrack_policy, from),
				    WTRACK_POLICY_COPY,
				    3,
				    3,
				    3,
				    ~0u };
	struct wt_policy p;

	(void)state;
	p = read_ok(in);
	expect_policy(&p, 3, 2, 16, 4000);
	in.size = sizeof(in.size);
	p = read_ok(in);
	assert_int_equal(p.kind, WTRACK_POLICY_EXACT);
	for (in.size = 0; in.size < sizeof(in.size); in.size++)
		assert_int_equal(wt_policy_read(&in, &p), -EINVAL);
}

static void a_longer_struct_needs_a_zero_tail(void **state)
{
	struct {
		struct wtrack_policy now;
		unsigned char tail[24];
	} in;
	struct wt_policy p;

	(void)state;
	memset(&in, 0, sizeof(in));
	in.now.size = sizeof(in);
	in.now.kind = WTRACK_POLICY_RESCAN;
	assert_int_equal(wt_policy_read(&in.now, &p), 0);
	expect_policy(&p, 1, 8, 64, 1500);
	for (size_t i = 0; i < sizeof(in.tail); i++) {
		in.tail[i] = 1;
		assert_int_equal(wt_policy_read(&in.now, &p), -E2BIG);
		in.tail[i] = 0;
	}
}

/* ---- all policies ---- */

/* Calls `f` for each there can be, but for what a page costs. */
static void for_each_policy(void (*f)(const struct wt_policy *p))
{
	const struct wt_policy exact = { WTRACK_POLICY_EXACT, 0, 0, 0, 0 };

	f(&exact);
	for (unsigned after = 1; after <= 4; after++)
		for (unsigned from = 1; from <= 10; from++)
			for (unsigned to = from; to <= from + 7; to++) {
				const struct wt_policy p = {
					1 + after % 2,          after, from, to,
					16 * (from << 12 | to),
				};

				f(&p);
			}
}

static void through_attributes(const struct wt_policy *p)
{
	uint64_t attr = wt_policy_attr(p);
	struct wt_policy back;

	assert_int_equal(attr & ~WT_POLICY_MASK, 0);
	assert_int_equal(attr & (WT_POLICY | WT_LAZY), 0);
	/* What else is in a range's attributes is not taken for it. */
	back = wt_policy_of(attr | (~WT_POLICY_MASK | WT_POLICY | WT_LAZY));
	assert_int_equal(back.kind, p->kind);
	assert_int_equal(back.after, p->after);
	assert_int_equal(back.from, p->from);
	assert_int_equal(back.to, p->to);
	assert_int_equal(back.page_ns, p->page_ns);
}

static void attributes_hold_all_of_a_policy(void **state)
{
	(void)state;
	for_each_policy(through_attributes);
}

/* Zero would ask for the kind's default when it is told and set again. */
static void a_small_price_does_not_vanish_in_attributes(void **state)
{
	struct wtrack_policy in = WTRACK_POLICY_INIT(WTRACK_POLICY_RESCAN);
	struct wt_policy p;

	(void)state;
	for (in.page_ns = 1; in.page_ns < 40; in.page_ns++) {
		p = read_ok(in);
		p = wt_policy_of(wt_policy_attr(&p));
		assert_in_range(p.page_ns, 1, in.page_ns + 15);
	}
}

static bool is_unarmed(uint8_t byte)
{
	return (byte & WT_BYTE_KIND) == WT_BYTE_HOT || byte == WT_BYTE_MARKED ||
	       byte == WT_BYTE_DEFERRED || byte == WT_BYTE_KEPT;
}

/* Whatever a byte came from: also another policy's, which was in force. */
static void any_byte(const struct wt_policy *p)
{
	for (unsigned tick = 0; tick < 40; tick++)
		for (unsigned byte = 0; byte < 256; byte++) {
			struct wt_next n = wt_policy_next(p, (uint8_t)byte,
							  tick - 20, byte * 77);
			struct wt_next again = wt_policy_next(
				p, (uint8_t)byte, tick - 20, byte * 77);
			unsigned kind = n.byte & WT_BYTE_KIND;

			assert_int_equal(n.arm, !is_unarmed(n.byte));
			assert_true(kind || n.byte == WT_BYTE_KEPT);
			assert_true(!n.proved ||
				    wt_byte_is_probe((uint8_t)byte));
			assert_int_equal(n.byte, again.byte);
			if (byte == WT_BYTE_KEPT)
				assert_int_equal(n.byte, WT_BYTE_KEPT);
			else if (!p->after)
				assert_true(n.arm);
		}
}

static void every_byte_becomes_a_valid_one(void **state)
{
	(void)state;
	for_each_policy(any_byte);
}

static void bytes_tell_what_is_presumed(void **state)
{
	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		uint8_t b = (uint8_t)byte;

		assert_int_equal(wt_byte_is_presumed(b),
				 is_unarmed(b) && b != WT_BYTE_MARKED);
		assert_int_equal(wt_byte_is_probe(b), byte >= 0xc0);
	}
	for (unsigned byte = 1; byte < 256; byte++)
		if (!is_unarmed((uint8_t)byte) && byte >= WT_BYTE_COLD)
			assert_true(wt_byte_is_armed((uint8_t)byte));
	assert_true(wt_byte_is_armed(WT_BYTE_CLEAN));
	assert_false(wt_byte_is_probe(WT_BYTE_CLEAN));
}

/* Its first store is the first epoch of a streak, whenever it comes. */
static void what_was_never_dirty_has_no_streak(void **state)
{
	const struct wt_policy p = { WTRACK_POLICY_COPY, 2, 1, 4, 4000 };

	(void)state;
	for (unsigned tick = 0; tick < 40; tick++)
		assert_true(wt_policy_next(&p, WT_BYTE_CLEAN, tick, 77).arm);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(zeroes_are_the_defaults_of_the_kind),
		CASE(fields_are_taken_one_by_one),
		CASE(each_field_has_its_bounds),
		CASE(exact_has_no_parameters),
		CASE(a_shorter_struct_has_zeroes_behind),
		CASE(a_longer_struct_needs_a_zero_tail),
		CASE(attributes_hold_all_of_a_policy),
		CASE(a_small_price_does_not_vanish_in_attributes),
		CASE(every_byte_becomes_a_valid_one),
		CASE(bytes_tell_what_is_presumed),
		CASE(what_was_never_dirty_has_no_streak),
	};

	return RUN_CASES("policy", cases);
}
