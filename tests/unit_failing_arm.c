/* SPDX-License-Identifier: MIT */
/*
 * unit_failing_arm.c: UFFDIO_WRITEPROTECT, or what a child opens, fails.
 *
 * What could not be armed stays dirty, and a child that cannot track says so.
 * [G3] [G7]
 */
#include "support.h"

#include "sys.h"
#include "uapi.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N 16

static unsigned long failing; /* the request that fails */
static long error;

static bool fail_request(enum wt_sys id, const long args[6], long *result)
{
	if (id != WT_SYS_IOCTL || args[1] != (long)failing)
		return false;
	*result = error;
	return true;
}

static void fail_all(unsigned long request, long with)
{
	failing = request;
	error = with;
	at_the_door(fail_request);
}

static const long errors[] = { -ENOMEM, -EFAULT, -EINVAL, -ENOENT, -EPERM };

#define N_ERRORS (sizeof(errors) / sizeof(errors[0]))

/* Whether anybody could register it: nobody has. */
static bool is_free(char *p, size_t len)
{
	int fd = (int)syscall(SYS_userfaultfd,
			      O_CLOEXEC | WT_UFFD_USER_MODE_ONLY);
	struct wt_uffdio_api api = { WT_UFFD_API, 0, 0 };
	struct wt_uffdio_register r = { { (uintptr_t)p, len }, 1, 0 };
	bool ok;

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, WT_UFFDIO_API, &api), 0);
	ok = ioctl(fd, WT_UFFDIO_REGISTER, &r) == 0;
	close(fd);
	return ok;
}

static void watch_returns_the_error_and_changes_nothing(void **state)
{
	const unsigned long requests[] = { WT_UFFDIO_REGISTER,
					   WT_UFFDIO_WRITEPROTECT };
	struct wtrack *t = open_on("scan");
	char *p = map_pages(N);
	size_t len = N * page_size();
	struct state before = state_of(t);

	(void)state;
	for (size_t i = 0; i < 2 * N_ERRORS; i++) {
		fail_all(requests[i % 2], errors[i / 2]);
		assert_returns(errors[i / 2], wtrack_watch(t, p, len, 0));
		at_the_door(NULL);
		assert_state_is(t, &before);
		assert_true(is_free(p, len));
	}
	assert_returns(0, wtrack_watch(t, p, len, 0));
	assert_false(is_free(p, len));
	assert_clean(t);
	wtrack_close(t);
	assert_true(is_free(p, len));
	unmap_pages(p, N);
}

static void an_initial_range_that_cannot_be_armed_stays_initial(void **state)
{
	struct wtrack *t = open_on("scan");
	char *p = map_pages(N);
	struct wtrack_run run;

	(void)state;
	assert_int_equal(
		wtrack_watch(t, p, N * page_size(), WTRACK_WATCH_DIRTY), 0);
	for (size_t i = 0; i < N_ERRORS; i++) {
		fail_all(WT_UFFDIO_WRITEPROTECT, errors[i]);
		assert_int_equal(wtrack_collect(t, NULL, &run, 1,
						WTRACK_GET | WTRACK_CLEAR),
				 1);
		at_the_door(NULL);
		assert_true(run.flags & WTRACK_RUN_INITIAL);
		assert_true(run.flags &
			    (WTRACK_RUN_DEGRADED | WTRACK_RUN_LOST));
		touch(p, 3);
		assert_int_equal(flags_at(t, p), WTRACK_RUN_INITIAL);
	}
	clear_all(t);
	assert_clean(t);
	touch(p, 3);
	assert_dirty(t, p, 3);
	wtrack_close(t);
	unmap_pages(p, N);
}

static void mark_returns_the_error_and_changes_nothing(void **state)
{
	struct wtrack *t = open_on("scan");
	char *p = map_watched(t, N);
	struct state before;

	(void)state;
	touch(p, 1);
	before = state_of(t);
	for (size_t i = 0; i < N_ERRORS; i++) {
		fail_all(WT_UFFDIO_WRITEPROTECT, errors[i]);
		assert_returns(errors[i], wtrack_mark(t, p, N * page_size()));
		at_the_door(NULL);
		assert_state_is(t, &before);
	}
	wtrack_close(t);
	unmap_pages(p, N);
}

static void huge_pages_that_cannot_be_armed_stay_dirty(void **state)
{
	struct wtrack *t = open_on("scan");
	struct mem m = mem_map(MEM_HUGETLB, 3, true);
	struct wtrack_run runs[4];

	(void)state;
	assert_int_equal(wtrack_watch(t, m.base, 3 * m.page, 0), 0);
	for (size_t i = 0; i < N_ERRORS; i++) {
		*(volatile char *)(m.base + m.page) = 7;
		fail_all(WT_UFFDIO_WRITEPROTECT, errors[i]);
		assert_int_equal(wtrack_collect(t, NULL, runs, 4,
						WTRACK_GET | WTRACK_CLEAR),
				 1);
		at_the_door(NULL);
		assert_int_equal(runs[0].start, (uintptr_t)m.base + m.page);
		assert_true(runs[0].flags & WTRACK_RUN_DEGRADED);
		*(volatile char *)(m.base + m.page) = 8; /* not armed */
		assert_true(is_dirty(t, m.base + m.page));
		clear_all(t);
		assert_clean(t);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

/* ---- what a child cannot open ---- */

static bool shut(enum wt_sys id, const long args[6], long *result)
{
	const char *path = id == WT_SYS_OPEN ? (const char *)args[1] : "";

	if (id != WT_SYS_USERFAULTFD && strcmp(path, "/dev/userfaultfd") != 0 &&
	    strcmp(path, "/proc/self/pagemap") != 0)
		return false;
	*result = -EPERM;
	return true;
}

static bool no_register(enum wt_sys id, const long args[6], long *result)
{
	failing = WT_UFFDIO_REGISTER;
	error = -EBUSY;
	return fail_request(id, args, result);
}

struct child {
	struct wtrack *t;
	char *p;
	wt_sys_hook_fn *hook;
	uint64_t marks; /* one of which each run must have from then on */
};

/* All is dirty, for ever, and each run says so: at first as in any child. */
static void child_is_always_dirty(void *arg)
{
	const uint64_t initial = WTRACK_RUN_INITIAL;
	struct child *c = arg;

	at_the_door(c->hook);
	for (int i = 0; i < 3; i++) {
		struct run_list l = collect_all(c->t, WTRACK_GET);
		size_t pages = 0;

		for (size_t r = 0; r < l.n; r++) {
			pages += (l.at[r].end - l.at[r].start) / page_size();
			CHECK(l.at[r].flags & (i ? c->marks : initial));
		}
		CHECK(pages == N);
		touch(c->p, 5);
		clear_all(c->t);
	}
	wtrack_close(c->t);
}

static void a_child_that_cannot_track_says_so(void **state)
{
	struct child c = { open_on("scan"), NULL, shut, WTRACK_RUN_UNTRACKED };

	(void)state;
	c.p = map_watched(c.t, N);
	touch(c.p, 1);
	assert_child_passes(child_is_always_dirty, &c);
	c.hook = no_register;
	c.marks = WTRACK_RUN_UNTRACKED | WTRACK_RUN_INITIAL | WTRACK_RUN_LOST;
	assert_child_passes(child_is_always_dirty, &c);
	/* The parent notices nothing. */
	assert_dirty(c.t, c.p, 1);
	clear_all(c.t);
	assert_clean(c.t);
	wtrack_close(c.t);
	unmap_pages(c.p, N);
}

static const char *lacks_huge_and_scan(void)
{
	return lacks_scan() ? lacks_scan() : lacks_hugetlb();
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_IF(watch_returns_the_error_and_changes_nothing,
			lacks_scan),
		CASE_IF(an_initial_range_that_cannot_be_armed_stays_initial,
			lacks_scan),
		CASE_IF(mark_returns_the_error_and_changes_nothing, lacks_scan),
		CASE_IF(huge_pages_that_cannot_be_armed_stay_dirty,
			lacks_huge_and_scan),
		CASE_IF(a_child_that_cannot_track_says_so, lacks_scan),
	};

	return RUN_CASES("failing_arm", cases);
}
