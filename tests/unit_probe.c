/* SPDX-License-Identifier: MIT */
/*
 * unit_probe.c: wtrack_probe() agrees with open, and disturbs nobody.
 */
#include "support.h"

#include "sys.h"
#include "uapi.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct wtrack_probe probe_now(void)
{
	struct wtrack_probe p = { .size = sizeof(p) };

	assert_returns(0, wtrack_probe(&p));
	return p;
}

/* ---- arguments ---- */

static void probe_refuses_null_and_no_room(void **state)
{
	struct wtrack_probe p = { .size = 0 };

	(void)state;
	assert_returns(-EINVAL, wtrack_probe(NULL));
	assert_returns(-EINVAL, wtrack_probe(&p));
	p.size = sizeof(p.size);
	assert_returns(-EINVAL, wtrack_probe(&p));
}

static void a_struct_of_another_size_gets_what_fits(void **state)
{
	struct {
		struct wtrack_probe p;
		uint64_t tail;
	} longer;
	struct wtrack_probe shorter;

	(void)state;
	memset(&longer, 0xff, sizeof(longer));
	longer.p.size = sizeof(longer);
	assert_returns(0, wtrack_probe(&longer.p));
	assert_int_equal(longer.tail, 0);
	memset(&shorter, 0xff, sizeof(shorter));
	shorter.size = offsetof(struct wtrack_probe, door_syscall);
	assert_returns(0, wtrack_probe(&shorter));
	assert_int_equal(shorter.door_device, longer.p.door_device);
	assert_int_equal(shorter.door_syscall, -1);
}

/* ---- with nothing taken away ---- */

static void the_backends_are_as_open_finds_them(void **state)
{
	struct wtrack_probe p = probe_now();
	struct wtrack *t = NULL;
	size_t n = 0;

	(void)state;
	for (; n < WTRACK_PROBE_BACKENDS && p.backends[n].name; n++) {
		const struct wtrack_probe_backend *b = &p.backends[n];
		struct wtrack_options o = WTRACK_OPTIONS_INIT;

		o.backend = b->name;
		assert_int_equal(b->reserved, 0);
		if (b->result == WTRACK_NOT_TRIED)
			continue;
		assert_int_equal(wtrack_open(&o, &t),
				 b->result ? -EOPNOTSUPP : 0);
		if (b->result)
			continue;
		assert_int_equal(b->caps, caps_of(t));
		wtrack_close(t);
	}
	assert_true(n >= 3);
	assert_string_equal(p.backends[n - 1].name, "all");
}

static void what_open_would_take_is_what_it_takes(void **state)
{
	static const char *const forced[] = { NULL, "all", "mprotect",
					      "no such" };

	(void)state;
	for (size_t i = 0; i < sizeof(forced) / sizeof(forced[0]); i++) {
		struct wtrack_info info = { .size = sizeof(info) };
		struct wtrack_probe p;
		struct wtrack *t = NULL;

		if (forced[i])
			setenv("WTRACK_BACKEND", forced[i], 1);
		p = probe_now();
		assert_int_equal(wtrack_open(NULL, &t), p.open);
		unsetenv("WTRACK_BACKEND");
		if (p.open) {
			assert_null(p.backend);
			continue;
		}
		assert_int_equal(wtrack_info(t, &info), 0);
		assert_string_equal(p.backend, info.backend);
		assert_int_equal(p.caps, info.caps);
		wtrack_close(t);
	}
}

static void where_scan_works_all_that_it_needs_does(void **state)
{
	struct wtrack_probe p = probe_now();

	(void)state;
	assert_int_equal(p.door_pagemap, 0);
	assert_true(!p.door_device || !p.door_syscall || !p.door_user);
	assert_int_equal(p.uffd_wp, 0);
	assert_int_equal(p.uffd_wp_async, 0);
	assert_int_equal(p.uffd_wp_unpopulated, 0);
	assert_int_equal(p.uffd_wp_shmem, 0);
	assert_int_equal(p.uffd_sigbus, 0);
	assert_int_equal(p.pagemap_scan, 0);
	assert_int_equal(p.pagemap_uffd_wp, 0);
	assert_int_equal(p.soft_dirty_clear, WTRACK_NOT_TRIED);
	assert_int_equal(!p.discarded_page && !p.discarded_block,
			 !!(p.caps & WTRACK_CAP_DISCARD));
}

static void mprotect_needs_nothing_else(void **state)
{
	struct wtrack_probe p = probe_now();

	(void)state;
	assert_int_equal(p.mprotect, 0);
	assert_int_equal(p.door_sigsegv, 0);
	assert_int_equal(p.door_sigbus, 0);
}

static void a_blocked_signal_is_told(void **state)
{
	struct wtrack_probe p;
	sigset_t bus, saved;

	(void)state;
	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &bus, &saved);
	p = probe_now();
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	assert_int_equal(p.door_sigbus, -EBUSY);
	assert_int_equal(p.door_sigsegv, 0);
}

static void nothing_is_left_behind(void **state)
{
	struct usage before, after;

	(void)state;
	probe_now();
	before = usage_now();
	for (int i = 0; i < 20; i++)
		probe_now();
	after = usage_now();
	assert_memory_equal(&before, &after, sizeof(before));
}

/* ---- what must not happen ---- */

static int clear_refs = -1;
static int written;

/* CRIU, say, reads the bits that a write there clears for the process. */
static bool watch_clear_refs(enum wt_sys id, const long args[6], long *result)
{
	if (id == WT_SYS_OPEN &&
	    !strcmp((const char *)args[1], "/proc/self/clear_refs")) {
		clear_refs = open("/dev/null", O_WRONLY | O_CLOEXEC);
		*result = clear_refs;
		return true;
	}
	if (id == WT_SYS_CLOSE && args[0] == clear_refs)
		clear_refs = -1;
	written += id == WT_SYS_WRITE && args[0] == clear_refs;
	return false;
}

static void soft_dirty_bits_are_not_cleared(void **state)
{
	(void)state;
	at_the_door(watch_clear_refs);
	assert_int_equal(probe_now().door_clear_refs, 0);
	at_the_door(NULL);
	assert_int_equal(written, 0);
}

static void what_is_watched_stays_as_it_was(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 8);

	touch(p, 2);
	probe_now();
	assert_dirty(t, p, 2);
	clear_all(t);
	probe_now();
	assert_clean(t);
	touch(p, 5);
	assert_dirty(t, p, 5);
	wtrack_close(t);
	unmap_pages(p, 8);
}

static int asked[1024];

static bool count_handshakes(enum wt_sys id, const long args[6], long *result)
{
	(void)result;
	if (id == WT_SYS_CLOSE && args[0] >= 0 && args[0] < 1024)
		asked[args[0]] = 0;
	if (id == WT_SYS_IOCTL && args[1] == (long)WT_UFFDIO_API)
		assert_int_equal(++asked[args[0]], 1);
	return false;
}

/* [K-uffd-api] */
static void no_descriptor_is_asked_twice(void **state)
{
	(void)state;
	at_the_door(count_handshakes);
	probe_now();
	at_the_door(NULL);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE(probe_refuses_null_and_no_room),
		CASE(a_struct_of_another_size_gets_what_fits),
		CASE(the_backends_are_as_open_finds_them),
		CASE(what_open_would_take_is_what_it_takes),
		CASE_IF(where_scan_works_all_that_it_needs_does, lacks_scan),
		CASE_IF(mprotect_needs_nothing_else, lacks_mprotect),
		CASE(a_blocked_signal_is_told),
		CASE(nothing_is_left_behind),
		CASE_EACH(what_is_watched_stays_as_it_was),
		CASE_FRESH(soft_dirty_bits_are_not_cleared, NULL),
		CASE(no_descriptor_is_asked_twice),
	};

	return RUN_FRESH_OR_ALL("probe", cases, argc, argv);
}
