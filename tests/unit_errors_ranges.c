/* SPDX-License-Identifier: MIT */
/*
 * unit_errors_ranges.c: what watch, unwatch, mark and prepare_write refuse.
 *
 * Each refusal is followed by the proof that nothing changed: ranges, dirty
 * pages, epoch, capabilities.  [G3]
 */
#include "support.h"

#include "uapi.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sixteen pages, of which 4 to 11 are watched and 5 and 8 dirty. */
struct scene {
	struct wtrack *t;
	char *p;
	size_t page;
	struct state before;
};

static struct scene scene_on(const char *backend)
{
	struct scene s = {
		open_on(backend), map_pages(16), page_size(), { 0 }
	};

	assert_int_equal(wtrack_watch(s.t, s.p + 4 * s.page, 8 * s.page, 0), 0);
	touch(s.p, 5);
	touch(s.p, 8);
	s.before = state_of(s.t);
	return s;
}

/* Nothing changed, and stores are still seen. */
static void scene_end(struct scene *s)
{
	assert_state_is(s->t, &s->before);
	assert_dirty(s->t, s->p, 5, 8);
	touch(s->p, 4);
	touch(s->p, 11);
	assert_dirty(s->t, s->p, 4, 5, 8, 11);
	wtrack_close(s->t);
	unmap_pages(s->p, 16);
}

typedef int range_call(struct wtrack *t, void *addr, size_t len);

static int watch(struct wtrack *t, void *addr, size_t len)
{
	return wtrack_watch(t, addr, len, 0);
}

static int mark(struct wtrack *t, void *addr, size_t len)
{
	return wtrack_mark(t, addr, len);
}

/* Common to all calls that take a range. */
static void refuses_bad_ranges(void **state)
{
	range_call *const calls[] = { watch, wtrack_unwatch, mark,
				      wtrack_prepare_write };
	struct scene s = scene_on(*state);
	void *last = (void *)-s.page;
	char *p = s.p + 4 * s.page;

	for (size_t i = 0; i < 4; i++) {
		assert_returns(-EINVAL, calls[i](NULL, p, s.page));
		assert_returns(-EINVAL, calls[i](s.t, p, 0));
		assert_returns(-EINVAL, calls[i](s.t, NULL, 0));
		assert_returns(-EINVAL, calls[i](s.t, last, s.page));
		assert_returns(-EINVAL, calls[i](s.t, last, 2 * s.page));
		assert_returns(-EINVAL, calls[i](s.t, p, -s.page));
		assert_returns(-EINVAL, calls[i](s.t, p, SIZE_MAX));
	}
	scene_end(&s);
}

static void watch_and_unwatch_refuse_parts_of_pages(void **state)
{
	range_call *const calls[] = { watch, wtrack_unwatch };
	struct scene s = scene_on(*state);
	char *p = s.p + 4 * s.page, *q = s.p;

	for (size_t i = 0; i < 2; i++) {
		assert_returns(-EINVAL, calls[i](s.t, p + 1, s.page));
		assert_returns(-EINVAL, calls[i](s.t, p, s.page - 1));
		assert_returns(-EINVAL, calls[i](s.t, p, 1));
		assert_returns(-EINVAL, calls[i](s.t, p + 8, s.page - 8));
		assert_returns(-EINVAL, calls[i](s.t, q, s.page + 1));
		assert_returns(-EINVAL, calls[i](s.t, q + 1, s.page));
	}
	scene_end(&s);
}

static void watch_refuses_every_unknown_flag(void **state)
{
	struct scene s = scene_on(*state);

	for (unsigned bit = 2; bit < 32; bit++) {
		unsigned flags = 1u << bit;

		assert_returns(-EINVAL, wtrack_watch(s.t, s.p, s.page, flags));
		assert_returns(-EINVAL,
			       wtrack_watch(s.t, s.p, s.page,
					    flags | WTRACK_WATCH_DIRTY));
	}
	scene_end(&s);
}

static void watch_refuses_what_is_not_mapped(void **state)
{
	struct scene s = scene_on(*state);

	munmap(s.p + 13 * s.page, s.page);
	assert_returns(-ENOMEM, watch(s.t, s.p + 13 * s.page, s.page));
	assert_returns(-ENOMEM, watch(s.t, s.p + 12 * s.page, 2 * s.page));
	assert_returns(-ENOMEM, watch(s.t, s.p + 13 * s.page, 2 * s.page));
	assert_returns(-ENOMEM, watch(s.t, s.p + 12 * s.page, 3 * s.page));
	assert_returns(-ENOMEM, watch(s.t, (void *)s.page, s.page));
	scene_end(&s);
}

static void watch_refuses_what_this_handle_watches(void **state)
{
	struct scene s = scene_on(*state);

	assert_returns(-EEXIST, watch(s.t, s.p + 4 * s.page, 8 * s.page));
	assert_returns(-EEXIST, watch(s.t, s.p + 6 * s.page, s.page));
	assert_returns(-EEXIST, watch(s.t, s.p + 3 * s.page, 2 * s.page));
	assert_returns(-EEXIST, watch(s.t, s.p + 11 * s.page, 2 * s.page));
	assert_returns(-EEXIST, watch(s.t, s.p, 16 * s.page));
	scene_end(&s);
}

/* Of whatever backend the other handle is. */
static void watch_refuses_what_another_handle_watches(void **state)
{
	struct scene s = scene_on(*state);

	for (size_t i = 0; i < N_BACKENDS; i++) {
		struct wtrack *other;

		if (backend_error(backend_names[i]))
			continue;
		other = open_on(backend_names[i]);
		assert_returns(-EBUSY, watch(other, s.p + 4 * s.page, s.page));
		assert_returns(-EBUSY, watch(other, s.p, 16 * s.page));
		assert_returns(-EBUSY,
			       watch(other, s.p + 11 * s.page, 2 * s.page));
		assert_int_equal(stats_of(other).ranges, 0);
		assert_returns(0, watch(other, s.p, 4 * s.page));
		assert_returns(0, watch(other, s.p + 12 * s.page, 4 * s.page));
		assert_returns(-ENOENT,
			       wtrack_unwatch(other, s.p, 16 * s.page));
		wtrack_close(other);
	}
	scene_end(&s);
}

static int foreign_userfaultfd(void)
{
	int fd = (int)syscall(SYS_userfaultfd,
			      O_CLOEXEC | WT_UFFD_USER_MODE_ONLY);
	struct wt_uffdio_api api = { WT_UFFD_API, 0, 0 };

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, WT_UFFDIO_API, &api), 0);
	return fd;
}

static void watch_refuses_what_another_userfaultfd_has(void **state)
{
	struct scene s = scene_on("scan");
	int fd = foreign_userfaultfd();
	struct wt_uffdio_register r = { { (uintptr_t)s.p + s.page, s.page },
					1,
					0 };

	(void)state;
	assert_int_equal(ioctl(fd, WT_UFFDIO_REGISTER, &r), 0);
	assert_returns(-EBUSY, watch(s.t, s.p + s.page, s.page));
	assert_returns(-EBUSY, watch(s.t, s.p, 4 * s.page));
	close(fd);
	/* The pages before it were not left behind, registered. */
	assert_state_is(s.t, &s.before);
	assert_returns(0, watch(s.t, s.p, 4 * s.page));
	assert_returns(0, wtrack_unwatch(s.t, s.p, 4 * s.page));
	scene_end(&s);
}

static void unwatch_refuses_what_is_not_watched(void **state)
{
	struct scene s = scene_on(*state);

	assert_returns(-ENOENT, wtrack_unwatch(s.t, s.p, s.page));
	assert_returns(-ENOENT, wtrack_unwatch(s.t, s.p, 16 * s.page));
	assert_returns(-ENOENT,
		       wtrack_unwatch(s.t, s.p + 3 * s.page, 2 * s.page));
	assert_returns(-ENOENT,
		       wtrack_unwatch(s.t, s.p + 11 * s.page, 2 * s.page));
	scene_end(&s);
}

static void unwatch_refuses_a_range_with_a_hole(void **state)
{
	struct scene s = scene_on(*state);

	assert_returns(0, wtrack_unwatch(s.t, s.p + 6 * s.page, s.page));
	s.before = state_of(s.t);
	assert_returns(-ENOENT,
		       wtrack_unwatch(s.t, s.p + 4 * s.page, 8 * s.page));
	assert_returns(-ENOENT,
		       wtrack_unwatch(s.t, s.p + 5 * s.page, 2 * s.page));
	assert_returns(-ENOENT, wtrack_unwatch(s.t, s.p + 6 * s.page, s.page));
	scene_end(&s);
}

static void mark_refuses_a_range_with_unwatched_pages(void **state)
{
	struct scene s = scene_on(*state);

	assert_returns(-ENOENT, mark(s.t, s.p, 1));
	assert_returns(-ENOENT, mark(s.t, s.p + 4 * s.page - 1, 2));
	assert_returns(-ENOENT, mark(s.t, s.p + 12 * s.page - 1, 2));
	assert_returns(-ENOENT, mark(s.t, s.p, 16 * s.page));
	scene_end(&s);
}

static void prepare_write_leaves_other_memory_alone(void **state)
{
	struct scene s = scene_on(*state);

	assert_returns(0, wtrack_prepare_write(s.t, s.p, 4 * s.page));
	assert_returns(0, wtrack_prepare_write(s.t, s.p + 12 * s.page, 1));
	assert_returns(0, wtrack_prepare_write(s.t, (void *)s.page, s.page));
	scene_end(&s);
}

/* ---- after the end of a handle, or of a mapping ---- */

static void a_closed_handle_leaves_its_range_to_others(void **state)
{
	struct scene s = scene_on(*state);
	struct wtrack *other = open_on(*state);
	char *p = s.p + 4 * s.page;

	assert_returns(-EBUSY, watch(other, p, s.page));
	wtrack_close(s.t);
	assert_returns(-ENOENT, wtrack_unwatch(other, p, s.page));
	assert_returns(-ENOENT, mark(other, p, s.page));
	assert_returns(-ENOENT, wtrack_query(other, p, NULL));
	touch(p, 0);
	assert_int_equal(stats_of(other).faults, 0);
	assert_returns(0, watch(other, p, 8 * s.page));
	assert_clean(other);
	touch(p, 3);
	assert_dirty(other, p, 3);
	wtrack_close(other);
	unmap_pages(s.p, 16);
}

static void a_vanished_mapping_can_only_be_unwatched(void **state)
{
	struct scene s = scene_on(*state);
	char *gone = s.p + 7 * s.page;
	int rc;

	munmap(gone, s.page);
	assert_returns(-EEXIST, watch(s.t, gone, s.page));
	rc = wtrack_mark(s.t, gone, s.page);
	assert_true(rc < 0 || !(caps_of(s.t) & WTRACK_CAP_LOSS));
	errno = 1234;
	rc = wtrack_prepare_write(s.t, gone, s.page);
	assert_true(rc == 0 || rc == -ENOMEM);
	assert_int_equal(errno, 1234);
	assert_returns(0, wtrack_unwatch(s.t, gone, s.page));
	assert_returns(-ENOENT, wtrack_unwatch(s.t, gone, s.page));
	assert_returns(-ENOMEM, watch(s.t, gone, s.page));
	/* The neighbours are still tracked. */
	touch(s.p, 6);
	assert_dirty(s.t, s.p, 5, 6, 8);
	wtrack_close(s.t);
	unmap_pages(s.p, 16);
}

static void all_of_a_vanished_range_can_be_unwatched(void **state)
{
	struct scene s = scene_on(*state);

	munmap(s.p + 4 * s.page, 8 * s.page);
	assert_returns(0, wtrack_unwatch(s.t, s.p + 4 * s.page, 8 * s.page));
	assert_int_equal(stats_of(s.t).ranges, 0);
	assert_int_equal(stats_of(s.t).watched_bytes, 0);
	assert_int_equal(collect_all(s.t, WTRACK_GET).n, 0);
	wtrack_close(s.t);
	unmap_pages(s.p, 16);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(refuses_bad_ranges),
		CASE_EACH(watch_and_unwatch_refuse_parts_of_pages),
		CASE_EACH(watch_refuses_every_unknown_flag),
		CASE_EACH(watch_refuses_what_is_not_mapped),
		CASE_EACH(watch_refuses_what_this_handle_watches),
		CASE_EACH(watch_refuses_what_another_handle_watches),
		CASE_IF(watch_refuses_what_another_userfaultfd_has, lacks_scan),
		CASE_EACH(unwatch_refuses_what_is_not_watched),
		CASE_EACH(unwatch_refuses_a_range_with_a_hole),
		CASE_EACH(mark_refuses_a_range_with_unwatched_pages),
		CASE_EACH(prepare_write_leaves_other_memory_alone),
		CASE_EACH(a_closed_handle_leaves_its_range_to_others),
		CASE_EACH(a_vanished_mapping_can_only_be_unwatched),
		CASE_EACH(all_of_a_vanished_range_can_be_unwatched),
	};

	return RUN_CASES("errors_ranges", cases);
}
