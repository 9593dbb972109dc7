/* SPDX-License-Identifier: MIT */
/*
 * live_tags.c: pointers with a tag in their highest byte, as allocators and
 * sanitizers of arm64 have them, mean what they point to.  [K-tags]
 */
#include "support_live.h"

#include "page.h"

#include <string.h>
#include <sys/mman.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

static const char *lacks_tags(void)
{
	if (!WT_TAG_BITS)
		return "pointers have no tags on this architecture";
	return lacks_native_run();
}

static char *tagged(const struct mem *m, size_t page)
{
	return (char *)((uintptr_t)page_of(m, page) | (uintptr_t)0x5a << 56);
}

static void tagged_pointers_are_watched(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 8, true);

	assert_int_equal(wtrack_watch(t, tagged(&m, 0), 8 * m.page, 0), 0);
	expect_none(t, &m);
	*(volatile char *)tagged(&m, 3) = 1;
	*(volatile char *)page_of(&m, 5) = 1;
	expect_pages(t, &m, BOTH, 3, 5);
	assert_int_equal(wtrack_unwatch(t, tagged(&m, 2), 2 * m.page), 0);
	*(volatile char *)tagged(&m, 3) = 1;
	*(volatile char *)tagged(&m, 4) = 1;
	expect_pages(t, &m, BOTH, 4);
	wtrack_close(t);
	mem_unmap(&m);
}

static void questions_may_be_tagged(void **state)
{
	const struct wtrack_policy rescan =
		WTRACK_POLICY_INIT(WTRACK_POLICY_RESCAN);
	struct wtrack_range_info info = { .size = sizeof(info) };
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, 8, true);
	struct wtrack_snapshot *s = NULL;

	watch_pages(t, &m, 0, 8, 0);
	assert_int_equal(wtrack_query(t, tagged(&m, 1), &info), 0);
	assert_int_equal(info.start, m.base);
	assert_int_equal(wtrack_mark(t, tagged(&m, 2) + 8, 16), 0);
	assert_true(is_dirty(t, page_of(&m, 2)));
	assert_int_equal(wtrack_prepare_write(t, tagged(&m, 6), m.page), 0);
	assert_int_equal(wtrack_snapshot(t, &s), 0);
	assert_int_equal(wtrack_snapshot_contains(s, tagged(&m, 2)), 1);
	wtrack_snapshot_free(s);
	assert_int_equal(
		wtrack_advise(t, tagged(&m, 4), m.page, WTRACK_ADVISE_ARM), 0);
	assert_int_equal(
		wtrack_set_policy(t, tagged(&m, 0), 8 * m.page, &rescan), 0);
	wtrack_close(t);
	mem_unmap(&m);
}

/* The last of all addresses is no tagged one: it has no memory behind it. */
static void addresses_do_not_wrap(void **state)
{
	struct wtrack *t = open_on(*state);
	char *last = (char *)(UINTPTR_MAX & ~(uintptr_t)(page_size() - 1));

	assert_returns(-EINVAL, wtrack_watch(t, last, 2 * page_size(), 0));
	wtrack_close(t);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_NEEDS_IF(tagged_pointers_are_watched, 0, lacks_tags),
		CASE_NEEDS_IF(questions_may_be_tagged, 0, lacks_tags),
		CASE_EACH(addresses_do_not_wrap),
	};

	return RUN_CASES("tags", cases);
}
