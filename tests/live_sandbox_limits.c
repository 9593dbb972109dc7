/* SPDX-License-Identifier: MIT */
/*
 * live_sandbox_limits.c: processes that may do less than they expect: not
 * dumpable, with sealed memory, or with a userfaultfd that is not the
 * library's.
 */
#include "support_sandbox.h"

#include "uapi.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

static struct wtrack_info info;

/* ---- not dumpable: /proc/self belongs to root ---- */

static void undumpable_from_the_start_falls_back(void **state)
{
	struct wtrack *t;

	(void)state;
	become_nobody();
	prctl(PR_SET_DUMPABLE, 0);
	t = open_in_sandbox(WITHOUT_PAGEMAP, &info);
	assert_int_equal(info.door_pagemap, -EACCES);
	assert_nothing_lost(t);
	wtrack_close(t);
}

static void collect_in_child(void *arg)
{
	struct wtrack *t = arg;
	struct run_list list = collect_all(t, WTRACK_GET | WTRACK_CLEAR);

	/* It cannot open again what it needs: all is dirty, and says why. */
	CHECK(list.n > 0);
	CHECK(list.at[0].flags & (WTRACK_RUN_INITIAL | WTRACK_RUN_UNTRACKED));
	assert_nothing_lost(t);
}

static void undumpable_later_keeps_what_is_open(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 4);

	become_nobody();
	prctl(PR_SET_DUMPABLE, 0);
	touch(p, 1);
	assert_dirty(t, p, 1);
	assert_child_passes(collect_in_child, t);
	assert_dirty(t, p, 1);
	assert_int_equal(wtrack_unwatch(t, p, 4 * page_size()), 0);
	assert_nothing_lost(t);
	wtrack_close(t);
}

/* ---- sealed memory ---- */

static bool seal(char *p, size_t pages)
{
	return !syscall(SYS_mseal, p, pages * page_size(), 0L);
}

static const char *lacks_mseal(void)
{
	/* Nothing: an empty range can be sealed where there is mseal(2). */
	return seal(NULL, 0) ? NULL : "the kernel has no mseal";
}

static bool changes_protection(const char *backend)
{
	return !strcmp(backend, "mprotect");
}

static void memory_that_is_sealed_can_be_watched(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_pages(8);
	struct state before = state_of(t);

	assert_true(seal(p, 8));
	if (changes_protection(*state)) {
		assert_returns(-EPERM, wtrack_watch(t, p, 8 * page_size(), 0));
		assert_state_is(t, &before);
		touch(p, 1);
	} else {
		assert_returns(0, wtrack_watch(t, p, 8 * page_size(), 0));
		touch(p, 1);
		assert_dirty(t, p, 1);
		clear_all(t);
		touch(p, 2);
		assert_dirty(t, p, 2);
		assert_returns(0, wtrack_unwatch(t, p, 8 * page_size()));
	}
	wtrack_close(t);
}

static void memory_can_be_sealed_while_it_is_watched(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 8);
	int error = changes_protection(*state) ? -EPERM : 0;

	touch(p, 1);
	assert_true(seal(p, 8));
	assert_dirty(t, p, 1);
	assert_returns(error, wtrack_mark(t, p + 2 * page_size(), 1));
	/* What was writable still is, and is reported until it can be armed. */
	touch(p, 1);
	assert_true(is_dirty(t, p + page_size()));
	if (error) {
		assert_returns(error, wtrack_unwatch(t, p, 8 * page_size()));
		assert_true(is_dirty(t, p + page_size()));
		return;
	}
	clear_all(t);
	touch(p, 3);
	assert_dirty(t, p, 3);
	assert_returns(0, wtrack_unwatch(t, p, 8 * page_size()));
	wtrack_close(t);
}

/* ---- somebody else's userfaultfd ---- */

static int own_userfaultfd(char *p, size_t pages)
{
	struct wt_uffdio_api api = { .api = WT_UFFD_API,
				     .features = WT_FEATURE_PAGEFAULT_WP };
	struct wt_uffdio_register reg = { { (uintptr_t)p, pages * page_size() },
					  WT_REGISTER_MODE_WP,
					  0 };
	int fd = (int)syscall(SYS_userfaultfd,
			      O_CLOEXEC | WT_UFFD_USER_MODE_ONLY);

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, WT_UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(fd, WT_UFFDIO_REGISTER, &reg), 0);
	return fd;
}

static bool needs_registration(const char *backend)
{
	return !strcmp(backend, "scan") || !strcmp(backend, "async") ||
	       !strcmp(backend, "wp") || !strcmp(backend, "monitor");
}

static void memory_of_another_userfaultfd_is_left_alone(void **state)
{
	struct wtrack *t = open_on(*state);
	int error = needs_registration(*state) ? -EBUSY : 0;
	struct state before = state_of(t);
	size_t page = page_size();
	char *p = map_pages(8);
	int fd = own_userfaultfd(p + 4 * page, 2);
	struct wt_uffdio_range range = { (uintptr_t)p + 4 * page, 2 * page };

	assert_returns(error, wtrack_watch(t, p + 5 * page, page, 0));
	if (!error)
		assert_returns(0, wtrack_unwatch(t, p + 5 * page, page));
	assert_returns(error, wtrack_watch(t, p, 8 * page, 0));
	if (!error)
		assert_returns(0, wtrack_unwatch(t, p, 8 * page));
	assert_state_is(t, &before);
	/* It still has what it registered. */
	assert_int_equal(ioctl(fd, WT_UFFDIO_UNREGISTER, &range), 0);
	close(fd);
	assert_returns(0, wtrack_watch(t, p, 8 * page, 0));
	touch(p, 5);
	assert_dirty(t, p, 5);
	wtrack_close(t);
	unmap_pages(p, 8);
}

static const char *lacks_nobody(void)
{
	return lacks_root() ? lacks_root() : lacks_scan();
}

#define CASE_FRESH_EACH_IF(f, why)                                         \
	{                                                                  \
		.name = #f, .run = f, .each_backend = true, .fresh = true, \
		.lacks = (why)                                             \
	}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_FRESH(undumpable_from_the_start_falls_back, lacks_nobody),
		CASE_FRESH_EACH_IF(undumpable_later_keeps_what_is_open,
				   lacks_nobody),
		CASE_FRESH_EACH_IF(memory_that_is_sealed_can_be_watched,
				   lacks_mseal),
		CASE_FRESH_EACH_IF(memory_can_be_sealed_while_it_is_watched,
				   lacks_mseal),
		CASE_NEEDS_IF(memory_of_another_userfaultfd_is_left_alone, 0,
			      lacks_scan),
	};

	return RUN_FRESH_OR_ALL("sandbox_limits", cases, argc, argv);
}
