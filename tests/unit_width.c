/* SPDX-License-Identifier: MIT */
/*
 * unit_width.c: where the kernel is set to un-arm more than the page of a
 * store, runs say so, and the backend works as ever.  [K-async-wide] [G2]
 *
 * The settings are injected: no released kernel has them.
 */
#include "support.h"

#include "uapi.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK wt_huge_size()

/* What the settings read; NULL: there are none. */
static const char *around, *huge;
static long read_error; /* instead of what they read */
static int opened[8];
static size_t n_opened;

static long file_with(const char *text)
{
	int fd = memfd_create("setting", MFD_CLOEXEC);

	if (fd < 0 || n_opened == 8 ||
	    pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
		return -EIO;
	opened[n_opened++] = fd;
	return fd;
}

static bool is_setting(long fd)
{
	for (size_t i = 0; i < n_opened; i++)
		if (opened[i] == fd)
			return true;
	return false;
}

static bool settings(enum wt_sys id, const long args[6], long *result)
{
	const char *path = id == WT_SYS_OPEN ? (const char *)args[1] : NULL;
	const char *text;

	if (id == WT_SYS_PREAD && read_error && is_setting(args[0])) {
		*result = read_error;
		return true;
	}
	if (!path || strncmp(path, "/proc/sys/vm/uffd_wp_async_", 27) != 0)
		return false;
	text = !strcmp(path + 27, "around") ? around : huge;
	*result = text ? file_with(text) : -ENOENT;
	return true;
}

/* A kernel that un-arms blocks of 4 pages, whoever wrote beside. */
static bool wide_kernel(enum wt_sys id, const long args[6], long *result)
{
	struct wt_pm_scan_arg *arg = (void *)args[2];
	struct wt_page_region *found;
	uint64_t block = 4 * page_size();

	if (settings(id, args, result))
		return true;
	if (id != WT_SYS_IOCTL || args[1] != (long)WT_PAGEMAP_SCAN ||
	    !(arg->category_mask & WT_PAGE_IS_WRITTEN))
		return false;
	*result = ioctl((int)args[0], WT_PAGEMAP_SCAN, arg);
	found = (struct wt_page_region *)(uintptr_t)arg->vec;
	if (*result == 1) {
		found->start &= ~(block - 1);
		found->end = (found->end + block - 1) & ~(block - 1);
	}
	return true;
}

static int open_on_wide_kernel(const char *a)
{
	struct wtrack_options o = WTRACK_OPTIONS_INIT;
	struct wtrack *t;
	int rc;

	around = a;
	o.backend = "scan";
	at_the_door(wide_kernel);
	rc = wtrack_open(&o, &t);
	if (!rc)
		wtrack_close(t);
	at_the_door(NULL);
	return rc;
}

/* Pages beside the one that was written are accepted if the setting tells why.
 */
static void what_lies_around_is_no_defect(void **state)
{
	(void)state;
	assert_int_equal(open_on_wide_kernel("4\n"), 0);
}

static void what_was_not_written_is_a_defect(void **state)
{
	(void)state;
	assert_int_equal(open_on_wide_kernel("0\n"), -EOPNOTSUPP);
}

static struct wtrack *open_set_to(const char *a, const char *h)
{
	around = a;
	huge = h;
	at_the_door(settings);
	return open_on("scan");
}

/* The flags of a store to page 3 of 8, and to each page of a block. */
struct seen {
	uint64_t one;
	uint64_t block;
	size_t runs;
};

static struct seen flags_seen(struct wtrack *t)
{
	char *p = mmap(NULL, 2 * BLOCK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t pages = wt_page_entries();
	struct seen s;

	assert_ptr_not_equal(p, MAP_FAILED);
	p += -(uintptr_t)p & (BLOCK - 1);
	madvise(p, BLOCK, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		touch(p, i);
	assert_int_equal(wtrack_watch(t, p, BLOCK, 0), 0);
	touch(p, 3);
	s.one = flags_at(t, p + 3 * page_size());
	clear_all(t);
	for (size_t i = 0; i < pages; i++)
		touch(p, i);
	s.block = flags_at(t, p);
	s.runs = collect_all(t, WTRACK_GET | WTRACK_CLEAR).n;
	assert_int_equal(collect_all(t, WTRACK_GET).n, 0);
	return s;
}

static void assert_seen(const char *a, const char *h, uint64_t one,
			uint64_t block)
{
	struct wtrack *t = open_set_to(a, h);
	struct seen s = flags_seen(t);

	assert_true(caps_of(t) & WTRACK_CAP_PRECISE);
	assert_int_equal(s.one, one);
	assert_int_equal(s.block, block);
	assert_int_equal(s.runs, 1);
	wtrack_close(t);
	at_the_door(NULL);
}

#define EXACT  WTRACK_RUN_WRITTEN
#define COARSE (WTRACK_RUN_WRITTEN | WTRACK_RUN_COARSE)

static void no_settings_are_exact(void **state)
{
	(void)state;
	assert_seen(NULL, NULL, EXACT, EXACT);
	assert_int_equal(n_opened, 0);
}

static void settings_that_are_off_are_exact(void **state)
{
	(void)state;
	assert_seen("0\n", "0\n", EXACT, EXACT);
	assert_true(n_opened >= 2);
	n_opened = 0;
	assert_seen("1\n", "0\n", EXACT, EXACT);
}

static void around_makes_all_runs_coarse(void **state)
{
	(void)state;
	assert_seen("16\n", "0\n", COARSE, COARSE);
}

static void the_least_around_is_two(void **state)
{
	(void)state;
	assert_seen("2\n", NULL, COARSE, COARSE);
}

static void huge_makes_whole_blocks_coarse(void **state)
{
	(void)state;
	assert_seen("0\n", "1\n", EXACT, COARSE);
}

static void what_is_no_number_is_off(void **state)
{
	(void)state;
	assert_seen("x16\n", "", EXACT, EXACT);
}

static void what_cannot_be_read_is_off(void **state)
{
	(void)state;
	read_error = -EIO;
	assert_seen("16\n", "1\n", EXACT, EXACT);
	assert_true(n_opened >= 2);
}

/* The descriptors are those of the hook's files: closed by the library. */
static void settings_are_closed_again(void **state)
{
	(void)state;
	wtrack_close(open_set_to("16\n", "1\n"));
	assert_true(n_opened >= 2);
	for (size_t i = 0; i < n_opened; i++) {
		char link[64], target[64] = "";

		snprintf(link, sizeof(link), "/proc/self/fd/%d", opened[i]);
		if (readlink(link, target, sizeof(target) - 1) > 0)
			assert_null(strstr(target, "setting"));
	}
}

/* So dear are false pages that nothing is put off because of what was measured.
 */
static const struct wtrack_policy rescan = {
	sizeof(rescan), WTRACK_POLICY_RESCAN, 0, 0, 0, 1048560
};

/* A policy decides as it does where runs are exact. */
static void a_policy_takes_coarse_runs(void **state)
{
	struct wtrack *t = open_set_to("16\n", "0\n");
	char *p = map_pages(16), *page = p + 5 * page_size();

	(void)state;
	assert_int_equal(wtrack_set_policy(t, NULL, 0, &rescan), 0);
	assert_int_equal(wtrack_watch(t, p, 16 * page_size(), 0), 0);
	touch(p, 5);
	assert_int_equal(flags_at(t, page), COARSE);
	clear_all(t);
	/* It waits for 4 epochs at least. */
	for (int epoch = 0; epoch < 3; epoch++) {
		assert_int_equal(flags_at(t, page),
				 WTRACK_RUN_PRESUMED | WTRACK_RUN_COARSE);
		touch(p, 5);
		clear_all(t);
	}
	wtrack_close(t);
}

static void write_all(char *p, size_t len)
{
	for (size_t i = 0; i < len / page_size(); i++)
		touch(p, i);
}

/* [G6] Runs that become equal are one, and an answer is short only at its end.
 */
static void runs_of_blocks_do_not_touch(void **state)
{
	struct wtrack *t = open_set_to("0\n", "1\n");
	const size_t len = 3 * BLOCK;
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run run;
	uintptr_t next;
	char *p = mmap(NULL, len + BLOCK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	p += -(uintptr_t)p & (BLOCK - 1);
	madvise(p, len, MADV_NOHUGEPAGE);
	write_all(p, len);
	assert_int_equal(wtrack_watch(t, p, len, 0), 0);
	/* It looks at each block by itself. */
	assert_int_equal(wtrack_set_policy(t, p, 2 * BLOCK, &rescan), 0);
	write_all(p, len);
	assert_int_equal(collect_all(t, WTRACK_GET).n, 1);
	next = (uintptr_t)p;
	while (wtrack_collect(t, &at, &run, 1, WTRACK_GET) == 1) {
		assert_int_equal(run.flags, COARSE);
		assert_int_equal(run.start, next);
		next = run.end;
	}
	assert_int_equal(next, (uintptr_t)p + len);
	wtrack_close(t);
}

static void share(char *p, size_t len)
{
	assert_ptr_equal(mmap(p, len, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 p);
}

/* [G6] The second half makes the run of the first coarse, as the one before is.
 */
static void a_run_that_grows_does_not_touch_the_one_before(void **state)
{
	struct wtrack *t = open_set_to("0\n", "1\n");
	const size_t half = BLOCK / 2, len = 2 * BLOCK;
	char *p = mmap(NULL, len + BLOCK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct wtrack_run runs[4];

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	p += -(uintptr_t)p & (BLOCK - 1);
	madvise(p, len, MADV_NOHUGEPAGE);
	/* Ranges apart: a huge page's worth, a half, and a half. */
	share(p, BLOCK);
	share(p + BLOCK + half, half);
	write_all(p, len);
	assert_int_equal(wtrack_watch(t, p, len, 0), 0);
	assert_int_equal(stats_of(t).ranges, 3);
	write_all(p, len);
	assert_int_equal(wtrack_collect(t, NULL, runs, 4, WTRACK_GET), 1);
	assert_int_equal(runs[0].flags, COARSE);
	assert_int_equal(runs[0].end - runs[0].start, len);
	wtrack_close(t);
}

static const char *lacks_scan_or_memory(void)
{
	const char *why = lacks_scan();

	return why ? why : lacks_huge_memory();
}

int main(int argc, char **argv)
{
	const struct test_case cases[] = {
		CASE_FRESH(no_settings_are_exact, lacks_scan_or_memory),
		CASE_FRESH(settings_that_are_off_are_exact,
			   lacks_scan_or_memory),
		CASE_FRESH(around_makes_all_runs_coarse, lacks_scan_or_memory),
		CASE_FRESH(the_least_around_is_two, lacks_scan_or_memory),
		CASE_FRESH(huge_makes_whole_blocks_coarse,
			   lacks_scan_or_memory),
		CASE_FRESH(what_is_no_number_is_off, lacks_scan_or_memory),
		CASE_FRESH(what_cannot_be_read_is_off, lacks_scan_or_memory),
		CASE_FRESH(settings_are_closed_again, lacks_scan),
		CASE_FRESH(what_lies_around_is_no_defect, lacks_scan),
		CASE_FRESH(what_was_not_written_is_a_defect, lacks_scan),
		CASE_FRESH(runs_of_blocks_do_not_touch, lacks_scan_or_memory),
		CASE_FRESH(a_run_that_grows_does_not_touch_the_one_before,
			   lacks_scan_or_memory),
		CASE_FRESH(a_policy_takes_coarse_runs, lacks_scan),
	};

	return RUN_FRESH_OR_ALL("unit_width", cases, argc, argv);
}
