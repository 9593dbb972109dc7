/* SPDX-License-Identifier: MIT */
/*
 * live_fresh.c: memory that was never populated is left alone by policies, and
 * what they remember of memory is little.
 */
#include "support_live.h"

#include "heat.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BOTH    (WTRACK_GET | WTRACK_CLEAR)
#define PAGES_N 1024

/* Of a page table's entry in /proc/self/pagemap. */
#define SWAPPED (UINT64_C(1) << 62)
#define PRESENT (UINT64_C(1) << 63)
#define ARMED   (UINT64_C(1) << 57)

/* Soon cold, soon hot; a false page is so dear that nothing is put off. */
static const struct wtrack_policy copy = {
	sizeof(copy), WTRACK_POLICY_COPY, 2, 2, 4, 1048560
};

/* Backends that need not arm what is not there. */
static bool is_lazy(const char *backend)
{
	return decides_by_page(backend) && strcmp(backend, "mprotect");
}

/* How many pages have one of these bits. */
static size_t count_pages(const struct mem *m, uint64_t bits)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry[PAGES_N];
	size_t n = 0;

	assert_true(fd >= 0 && m->pages <= PAGES_N);
	assert_int_equal(pread(fd, entry, m->pages * sizeof(entry[0]),
			       (off_t)((uintptr_t)m->base / page_size() *
				       sizeof(entry[0]))),
			 m->pages * sizeof(entry[0]));
	close(fd);
	for (size_t i = 0; i < m->pages; i++)
		n += (entry[i] & bits) != 0;
	return n;
}

static struct mem fresh_memory(void)
{
	struct mem m = mem_map(MEM_ANON, PAGES_N, false);

	madvise(m.base, PAGES_N * m.page, MADV_NOHUGEPAGE);
	return m;
}

static void fresh_memory_is_not_populated_and_not_reported(void **state)
{
	struct wtrack *t = open_policy(*state, &copy);
	struct mem m = fresh_memory();

	watch_pages(t, &m, 0, PAGES_N, 0);
	for (int i = 0; i < 3; i++) {
		expect_none(t, &m);
		assert_int_equal(look_at(t, &m, i), 0);
		clear_all(t);
		assert_int_equal(count_pages(&m, PRESENT | SWAPPED), 0);
		if (is_lazy(*state))
			assert_int_equal(count_pages(&m, ARMED), 0);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* [G1] Each once, in two epochs; and then it is tracked like any other. */
static void the_first_store_is_reported(void **state)
{
	struct wtrack *t = open_policy(*state, &copy);
	struct mem m = fresh_memory();
	struct view v;

	watch_pages(t, &m, 0, PAGES_N, 0);
	for (size_t i = 0; i < 100; i++) {
		size_t page = i * 37 % PAGES_N;

		store(&m, page);
		view_collect(&v, t, &m, 64, WTRACK_GET);
		assert_int_not_equal(v.flags[page], 0);
		view_collect(&v, t, &m, 64, BOTH);
		assert_int_not_equal(v.flags[page], 0);
		assert_int_equal(v.runs, 1);
		expect_none(t, &m);
		assert_int_equal(look_at(t, &m, page), 0);
	}
	assert_int_equal(count_pages(&m, PRESENT | SWAPPED), 100);
	clear_all(t);
	store(&m, 37);
	assert_int_equal(look_at(t, &m, 37), WTRACK_RUN_WRITTEN);
	wtrack_close(t);
	mem_unmap(&m);
}

/* The one for the missing page is the kernel's. */
static void the_first_store_takes_one_fault(void **state)
{
	struct wtrack *t = open_policy(*state, &copy);
	struct mem m = fresh_memory();
	uint64_t faults;

	watch_pages(t, &m, 0, PAGES_N, 0);
	faults = stats_of(t).faults;
	for (size_t i = 0; i < PAGES_N; i += 2)
		store(&m, i);
	if (is_lazy(*state))
		assert_int_equal(stats_of(t).faults, faults);
	wtrack_close(t);
	mem_unmap(&m);
}

/* What a load maps is not told from what a store does, but not written. */
static void a_load_makes_nothing_written(void **state)
{
	struct wtrack *t = open_policy(*state, &copy);
	struct mem m = fresh_memory();

	watch_pages(t, &m, 0, PAGES_N, 0);
	assert_int_equal(*(volatile char *)page_of(&m, 9), 0);
	assert_int_equal(look_at(t, &m, 9) & WTRACK_RUN_WRITTEN, 0);
	assert_int_equal(look_at(t, &m, 8), 0);
	clear_all(t);
	clear_all(t);
	store(&m, 9);
	assert_true(look_at(t, &m, 9));
	expect_pages(t, &m, BOTH, 9);
	wtrack_close(t);
	mem_unmap(&m);
}

/* Memory with contents is armed when it is watched. [G2] */
static void what_is_populated_starts_clean(void **state)
{
	struct wtrack *t = open_policy(*state, &copy);
	struct mem m = fresh_memory();

	for (size_t i = 0; i < PAGES_N; i += 3)
		store(&m, i);
	watch_pages(t, &m, 0, PAGES_N, 0);
	assert_int_equal(collect_all(t, WTRACK_GET).n, 0);
	store(&m, 3);
	assert_int_equal(look_at(t, &m, 3), WTRACK_RUN_WRITTEN);
	store(&m, 4);
	assert_true(look_at(t, &m, 4));
	wtrack_close(t);
	mem_unmap(&m);
}

/* What has been cleared is zero no more: to discard it is a change. [G1] */
static void what_was_cleared_is_reported_when_it_goes(void **state)
{
	struct wtrack *t = open_policy(*state, &copy);
	struct mem m = fresh_memory();

	watch_pages(t, &m, 0, PAGES_N, 0);
	store(&m, 5);
	store(&m, 6);
	clear_all(t);
	assert_int_equal(look_at(t, &m, 5), 0);
	assert_int_equal(madvise(page_of(&m, 5), m.page, MADV_DONTNEED), 0);
	assert_true(look_at(t, &m, 5));
	assert_int_equal(look_at(t, &m, 6), 0);
	wtrack_close(t);
	mem_unmap(&m);
}

/* By mark, by advice, or for the kernel: in memory that is not there yet. */
static void what_is_marked_is_reported_until_cleared(void **state)
{
	struct wtrack *t = open_policy(*state, &copy);
	struct mem m = fresh_memory();

	watch_pages(t, &m, 0, PAGES_N, 0);
	assert_int_equal(wtrack_mark(t, page_of(&m, 3), m.page), 0);
	assert_true(look_at(t, &m, 3));
	assert_int_equal(look_at(t, &m, 4), 0);
	clear_all(t);
	assert_int_equal(look_at(t, &m, 3), 0);
	assert_int_equal(wtrack_prepare_write(t, page_of(&m, 9), m.page), 0);
	store(&m, 9);
	assert_true(look_at(t, &m, 9));
	assert_int_equal(wtrack_advise(t, page_of(&m, 20), 5 * m.page,
				       WTRACK_ADVISE_WRITES),
			 0);
	for (int epoch = 0; epoch < 3; epoch++) {
		for (size_t i = 20; i < 25; i++)
			assert_true(look_at(t, &m, i));
		clear_all(t);
	}
	assert_int_equal(wtrack_advise(t, page_of(&m, 20), 5 * m.page,
				       WTRACK_ADVISE_ARM),
			 0);
	assert_int_equal(collect_all(t, WTRACK_GET).n, 0);
	store(&m, 22);
	assert_int_equal(look_at(t, &m, 22), WTRACK_RUN_WRITTEN);
	wtrack_close(t);
	mem_unmap(&m);
}

/* New memory can be huge: nothing was armed in it that would forbid it. */
static void fresh_memory_may_become_huge(void **state)
{
	struct wtrack *t = open_policy(*state, &copy);
	struct mem m = mem_map(MEM_THP, PAGES_N, false);

	watch_pages(t, &m, 0, PAGES_N, 0);
	store(&m, 700);
	assert_true(look_at(t, &m, 700));
	assert_int_equal(look_at(t, &m, 1), 0);
	expect_pages(t, &m, BOTH, 700);
	clear_all(t);
	assert_int_equal(collect_all(t, WTRACK_GET).n, 0);
	store(&m, 701);
	assert_true(look_at(t, &m, 701));
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- memory for state ---- */

/* A GiB of pages of 4 KiB. */
#define AREA_PAGES ((size_t)1 << 18)

/* A block's worth of state for each block that was written to: 5/4 byte a page.
 */
static void state_takes_little_memory(void **state)
{
	struct wtrack *t = open_policy(*state, &rescan_soon);
	uint64_t before = stats_of(t).policy_bytes, used;
	size_t len = AREA_PAGES * page_size(), block = wt_heat_block();
	char *area = mmap(NULL, len + block, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *p = area + (-(uintptr_t)area & (block - 1));

	assert_ptr_not_equal(area, MAP_FAILED);
	madvise(p, len, MADV_NOHUGEPAGE);
	assert_int_equal(wtrack_watch(t, p, len, 0), 0);
	assert_int_equal(stats_of(t).policy_bytes, before);
	for (int epoch = 0; epoch < 3; epoch++) {
		for (size_t at = 0; at < len; at += block)
			++*(volatile char *)(p + at);
		clear_all(t);
	}
	used = stats_of(t).policy_bytes - before;
	assert_in_range(used, 1, AREA_PAGES * 5 / 4);
	assert_int_equal(wtrack_unwatch(t, p, len), 0);
	assert_int_equal(stats_of(t).policy_bytes, before);
	wtrack_close(t);
	munmap(area, len + block);
}

/* [G1] [G2] */
static void expect_exact(struct wtrack *t, const struct mem *m)
{
	for (int epoch = 0; epoch < 5; epoch++) {
		store(m, 5);
		assert_true(look_at(t, m, 5) & WTRACK_RUN_WRITTEN);
		expect_pages(t, m, BOTH, 5);
		expect_none(t, m);
		assert_int_equal(look_at(t, m, 5), 0);
	}
}

/* The n-th mapping fails: as if there were no policy, if that is what fails. */
static void watching_without_memory_is_exact(void **state)
{
	bool seen = false;

	for (int n = 1; n < 8; n++) {
		struct wtrack *t = open_policy(*state, &rescan_soon);
		struct mem m = map_unknown(PAGES_N);
		int rc;

		fail_entry(WT_SYS_MMAP, n, 1, -ENOMEM);
		rc = wtrack_watch(t, m.base, PAGES_N * m.page, 0);
		fail_no_more();
		if (rc)
			assert_int_equal(rc, -ENOMEM);
		if (!rc && stats_of(t).policy_exact) {
			struct wtrack_range_info info = { .size = sizeof(
								  info) };

			assert_int_equal(stats_of(t).policy_exact, 1);
			assert_int_equal(wtrack_query(t, m.base, &info), 0);
			assert_int_equal(info.policy, WTRACK_POLICY_EXACT);
			expect_exact(t, &m);
			seen = true;
		}
		wtrack_close(t);
		mem_unmap(&m);
	}
	assert_true(seen);
}

/* [G3] */
static void setting_without_memory_changes_nothing(void **state)
{
	bool failed = false;
	int rc = -ENOMEM;

	for (int n = 1; n < 8; n++) {
		struct wtrack_range_info info = { .size = sizeof(info) };
		struct wtrack *t = open_on(*state);
		struct mem m = map_unknown(PAGES_N);

		watch_pages(t, &m, 0, PAGES_N, 0);
		fail_entry(WT_SYS_MMAP, n, 1, -ENOMEM);
		rc = wtrack_set_policy(t, n % 2 ? m.base : NULL,
				       n % 2 ? 16 * m.page : 0, &rescan_soon);
		fail_no_more();
		assert_int_equal(wtrack_query(t, m.base, &info), 0);
		assert_int_equal(info.policy, rc ? WTRACK_POLICY_EXACT
						 : WTRACK_POLICY_RESCAN);
		if (rc) {
			assert_int_equal(rc, -ENOMEM);
			expect_exact(t, &m);
			failed = true;
		}
		assert_int_equal(stats_of(t).policy_exact, 0);
		wtrack_close(t);
		mem_unmap(&m);
	}
	assert_true(failed);
	assert_int_equal(rc, 0);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_NEEDS(fresh_memory_is_not_populated_and_not_reported,
			   WTRACK_CAP_PRECISE),
		CASE_NEEDS(the_first_store_is_reported,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(the_first_store_takes_one_fault, WTRACK_CAP_PRECISE),
		CASE_NEEDS(a_load_makes_nothing_written, WTRACK_CAP_PRECISE),
		CASE_NEEDS(what_is_populated_starts_clean, WTRACK_CAP_PRECISE),
		CASE_NEEDS(what_was_cleared_is_reported_when_it_goes,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_DISCARD |
				   WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(what_is_marked_is_reported_until_cleared,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(fresh_memory_may_become_huge,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(state_takes_little_memory,
			   WTRACK_CAP_PRECISE | WTRACK_CAP_CONCURRENT),
		CASE_NEEDS(watching_without_memory_is_exact,
			   WTRACK_CAP_PRECISE),
		CASE_NEEDS(setting_without_memory_changes_nothing,
			   WTRACK_CAP_PRECISE),
	};

	return RUN_CASES("fresh", cases);
}
