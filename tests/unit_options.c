/* SPDX-License-Identifier: MIT */
/* unit_options.c: structs of other sizes, and WTRACK_BACKEND. */
#include "support.h"

#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The options of a caller compiled against a later header. */
struct later {
	struct wtrack_options now;
	uint64_t tail[3];
};

static struct later later_options(void)
{
	struct later l = { WTRACK_OPTIONS_INIT, { 0, 0, 0 } };

	l.now.size = sizeof(l);
	l.now.require = WTRACK_CAP_LOSS;
	l.now.backend = "all";
	return l;
}

static void no_options_are_the_defaults(void **state)
{
	struct wtrack_options out;

	(void)state;
	memset(&out, 0xff, sizeof(out));
	assert_int_equal(wt_options_read(NULL, &out), 0);
	assert_int_equal(out.flags, 0);
	assert_int_equal(out.require, 0);
	assert_null(out.backend);
	assert_null(out.policy);
}

static void all_fields_are_taken_over(void **state)
{
	const struct wtrack_policy policy = WTRACK_POLICY_INIT(1);
	struct wtrack_options in = WTRACK_OPTIONS_INIT, out;

	(void)state;
	in.policy = &policy;
	in.require = WTRACK_CAP_LOSS | WTRACK_CAP_PRECISE;
	in.backend = "scan";
	assert_int_equal(wt_options_read(&in, &out), 0);
	assert_int_equal(out.require, in.require);
	assert_string_equal(out.backend, "scan");
	assert_ptr_equal(out.policy, &policy);
}

static void a_shorter_struct_is_accepted_and_not_read_behind(void **state)
{
	struct wtrack_options in = WTRACK_OPTIONS_INIT, out;

	(void)state;
	in.require = WTRACK_CAP_LOSS;
	in.policy = (const struct wtrack_policy *)8; /* reading would crash */
	in.backend = (const char *)8;
	in.size = offsetof(struct wtrack_options, backend);
	assert_int_equal(wt_options_read(&in, &out), 0);
	assert_int_equal(out.require, WTRACK_CAP_LOSS);
	assert_null(out.backend);
	assert_null(out.policy);
	in.flags = 1;
	in.size = sizeof(in.size);
	assert_int_equal(wt_options_read(&in, &out), 0);
	assert_int_equal(out.flags, 0);
	assert_int_equal(out.require, 0);
}

static void a_longer_struct_with_a_zero_tail_is_accepted(void **state)
{
	struct later in = later_options();
	struct wtrack_options out;

	(void)state;
	assert_int_equal(wt_options_read(&in.now, &out), 0);
	assert_int_equal(out.require, WTRACK_CAP_LOSS);
	assert_string_equal(out.backend, "all");
}

static void a_longer_struct_with_any_byte_set_is_too_big(void **state)
{
	struct wtrack_options out;

	(void)state;
	for (size_t i = 0; i < sizeof(((struct later *)0)->tail); i++) {
		struct later in = later_options();

		((unsigned char *)in.tail)[i] = 0x80;
		assert_int_equal(wt_options_read(&in.now, &out), -E2BIG);
		/* Bytes behind its size are not looked at. */
		in.now.size = sizeof(in.now) + i;
		assert_int_equal(wt_options_read(&in.now, &out), 0);
	}
}

static void a_struct_without_room_for_its_size_is_invalid(void **state)
{
	struct wtrack_options in = WTRACK_OPTIONS_INIT, out;

	(void)state;
	for (in.size = 0; in.size < sizeof(in.size); in.size++)
		assert_int_equal(wt_options_read(&in, &out), -EINVAL);
}

static void every_unknown_bit_is_invalid(void **state)
{
	const uint64_t known = 0xff, known_flags = 0x3;

	(void)state;
	for (int bit = 0; bit < 64; bit++) {
		struct wtrack_options in = WTRACK_OPTIONS_INIT, out;
		uint64_t mask = (uint64_t)1 << bit;

		in.flags = mask;
		assert_int_equal(wt_options_read(&in, &out),
				 mask & known_flags ? 0 : -EINVAL);
		in.flags = 0;
		in.require = mask;
		assert_int_equal(wt_options_read(&in, &out),
				 mask & known ? 0 : -EINVAL);
	}
}

static void the_environment_wins_over_the_option(void **state)
{
	struct wtrack_options in = WTRACK_OPTIONS_INIT, out;

	(void)state;
	in.backend = "scan";
	setenv("WTRACK_BACKEND", "all", 1);
	assert_int_equal(wt_options_read(&in, &out), 0);
	assert_string_equal(out.backend, "all");
	assert_int_equal(wt_options_read(NULL, &out), 0);
	assert_string_equal(out.backend, "all");
	setenv("WTRACK_BACKEND", "", 1);
	assert_int_equal(wt_options_read(&in, &out), 0);
	assert_string_equal(out.backend, "scan");
	unsetenv("WTRACK_BACKEND");
}

/* ---- structs that are given ---- */

struct given {
	size_t size;
	uint64_t a;
	uint64_t b;
};

static void a_struct_is_given_in_the_size_it_has_here(void **state)
{
	struct given to = { sizeof(to), 77, 77 };
	const struct given from = { sizeof(from), 1, 2 };

	(void)state;
	assert_int_equal(wt_struct_give(&to, &from), 0);
	assert_int_equal(to.size, sizeof(to));
	assert_int_equal(to.a, 1);
	assert_int_equal(to.b, 2);
}

static void a_shorter_struct_gets_what_fits(void **state)
{
	const struct given from = { sizeof(from), ~0ull, ~0ull };

	(void)state;
	for (size_t n = sizeof(size_t) + 1; n < sizeof(from); n++) {
		struct given to = { n, 0, 0 };

		assert_int_equal(wt_struct_give(&to, &from), 0);
		assert_int_equal(to.size, n);
		for (size_t i = sizeof(size_t); i < sizeof(to); i++)
			assert_int_equal(((unsigned char *)&to)[i],
					 i < n ? 0xff : 0);
	}
}

static void a_longer_struct_gets_a_zero_tail(void **state)
{
	struct {
		struct given now;
		uint64_t tail[2];
		uint64_t behind;
	} to = { { sizeof(struct given) + 16, 9, 9 }, { 9, 9 }, 9 };
	const struct given from = { sizeof(from), 1, 2 };

	(void)state;
	assert_int_equal(wt_struct_give(&to, &from), 0);
	assert_int_equal(to.now.size, sizeof(struct given) + 16);
	assert_int_equal(to.now.b, 2);
	assert_int_equal(to.tail[0], 0);
	assert_int_equal(to.tail[1], 0);
	assert_int_equal(to.behind, 9);
}

static void a_given_struct_without_room_is_invalid_and_untouched(void **state)
{
	const struct given from = { sizeof(from), 1, 2 };

	(void)state;
	for (size_t n = 0; n <= sizeof(size_t); n++) {
		struct given to = { n, 7, 7 };

		assert_int_equal(wt_struct_give(&to, &from), -EINVAL);
		assert_int_equal(to.size, n);
		assert_int_equal(to.a, 7);
		assert_int_equal(to.b, 7);
	}
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(no_options_are_the_defaults),
		CASE(all_fields_are_taken_over),
		CASE(a_shorter_struct_is_accepted_and_not_read_behind),
		CASE(a_longer_struct_with_a_zero_tail_is_accepted),
		CASE(a_longer_struct_with_any_byte_set_is_too_big),
		CASE(a_struct_without_room_for_its_size_is_invalid),
		CASE(every_unknown_bit_is_invalid),
		CASE(the_environment_wins_over_the_option),
		CASE(a_struct_is_given_in_the_size_it_has_here),
		CASE(a_shorter_struct_gets_what_fits),
		CASE(a_longer_struct_gets_a_zero_tail),
		CASE(a_given_struct_without_room_is_invalid_and_untouched),
	};

	return RUN_CASES("options", cases);
}
