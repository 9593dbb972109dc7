/* SPDX-License-Identifier: MIT */
/*
 * live_kernel_writes.c: system calls that store into watched memory.
 *
 * bdwgc/bdwgc#25: read() into a protected heap fails with EFAULT, and the
 * connection is dropped.  LunarG/gfxreconstruct#686: fread() returns short.
 * LunarG/gfxreconstruct PR#732, FEX-Emu/FEX#3942, mattias800/prosper PR#1147:
 * which calls fail, and that they can, must be known at run time.
 */
#include "kernel_calls.h"
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N_PAGES 8

struct scene {
	struct wtrack *t;
	char *p;
	bool works; /* without wtrack_prepare_write() */
};

static struct scene scene_on(const char *backend)
{
	struct scene s = { open_on(backend), NULL, false };

	s.p = map_watched(s.t, N_PAGES);
	s.works = caps_of(s.t) & WTRACK_CAP_KERNEL_WRITES;
	return s;
}

static void scene_end(struct scene *s)
{
	wtrack_close(s->t);
	unmap_pages(s->p, N_PAGES);
}

/* Into pages 2, 3 and 4; whole ones; or for a small structure into 2. */
static char *place_of(const struct kernel_call *c, char *p)
{
	return p + 2 * page_size() + (c->size == CALL_PAGES ? 0 : 8);
}

static size_t size_of(const struct kernel_call *c)
{
	switch (c->size) {
	case CALL_LONG:
		return 2 * page_size() + 100;
	case CALL_PAGES:
		return 3 * page_size();
	default:
		return 1024;
	}
}

static void assert_stored(const struct kernel_call *c, ssize_t n)
{
	if (n != (c->size == CALL_SMALL ? 0 : (ssize_t)size_of(c)))
		fail_msg("%s returned %zd, errno %d", c->name, n, errno);
}

static void assert_reported(struct scene *s, const struct kernel_call *c)
{
	if (c->size == CALL_SMALL)
		assert_dirty(s->t, s->p, 2);
	else
		assert_dirty(s->t, s->p, 2, 3, 4);
}

/* What fails stores nothing, and reports nothing. */
static void assert_refused(struct scene *s, const struct kernel_call *c,
			   ssize_t n)
{
	char *at = place_of(c, s->p);

	if (n != -1 || errno != EFAULT)
		fail_msg("%s returned %zd, errno %d", c->name, n, errno);
	for (size_t i = 0; i < size_of(c); i++)
		assert_int_equal(at[i], 'o');
	assert_clean(s->t);
}

/* Calls one after the other that find all clean, and 'o' everywhere. */
static void for_each_call(struct scene *s,
			  void (*f)(struct scene *s,
				    const struct kernel_call *c))
{
	for (size_t i = 0; i < n_kernel_calls; i++) {
		const struct kernel_call *c = &kernel_calls[i];
		const char *why = c->lacks ? c->lacks() : NULL;

		if (why) {
			printf("# %s left out: %s\n", c->name, why);
			continue;
		}
		memset(s->p, 'o', N_PAGES * page_size());
		/* A descriptor that poll(2) passes over. */
		if (!strcmp(c->name, "poll"))
			memset(place_of(c, s->p), 0xff, sizeof(int));
		clear_all(s->t);
		f(s, c);
	}
}

/* ---- every call ---- */

static void store_unprepared(struct scene *s, const struct kernel_call *c)
{
	ssize_t n = c->f(place_of(c, s->p), size_of(c));

	if (s->works) {
		assert_stored(c, n);
		assert_reported(s, c);
	} else if (strcmp(c->name, "poll") != 0) {
		assert_refused(s, c, n);
	} else {
		assert_int_equal(n, -1);
		assert_int_equal(errno, EFAULT);
		assert_clean(s->t);
	}
	/* Tracked as ever. */
	touch(s->p, 6);
	assert_true(is_dirty(s->t, s->p + 6 * page_size()));
}

/* The capability tells the truth: a call works, or fails in full. */
static void a_call_stores_and_is_seen_or_fails_with_efault(void **state)
{
	struct scene s = scene_on(*state);

	for_each_call(&s, store_unprepared);
	scene_end(&s);
}

static void store_prepared(struct scene *s, const struct kernel_call *c)
{
	char *at = place_of(c, s->p);

	assert_returns(0, wtrack_prepare_write(s->t, at, size_of(c)));
	assert_stored(c, c->f(at, size_of(c)));
	assert_reported(s, c);
	clear_all(s->t);
	/* And after the clearing stores are seen as ever. */
	assert_clean(s->t);
	touch(s->p, 3);
	assert_dirty(s->t, s->p, 3);
}

/* Whatever the backend: the way to be sure that a system call works. */
static void after_prepare_write_a_call_stores_and_is_seen(void **state)
{
	struct scene s = scene_on(*state);

	for_each_call(&s, store_prepared);
	scene_end(&s);
}

/* A page that was written before takes more. */
static void store_into_dirty(struct scene *s, const struct kernel_call *c)
{
	for (size_t i = 2; i < 5; i++)
		touch(s->p, i);
	assert_stored(c, c->f(place_of(c, s->p), size_of(c)));
	assert_dirty(s->t, s->p, 2, 3, 4);
}

static void a_dirty_page_takes_calls_until_it_is_cleared(void **state)
{
	struct scene s = scene_on(*state);

	for_each_call(&s, store_into_dirty);
	scene_end(&s);
}

/* A store through /proc ignores the protection of pages. */
static void a_store_through_proc_mem_is_seen(void **state)
{
	struct scene s = scene_on(*state);
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	uintptr_t at = (uintptr_t)s.p + 3 * page_size() - 2;

	assert_true(fd >= 0);
	/* [K-proc-mem] A look from outside does not wait for a monitor. */
	if (!strcmp(*state, "monitor"))
		assert_returns(0, wtrack_prepare_write(s.t, (char *)at, 4));
	assert_int_equal(pwrite(fd, "abcd", 4, (off_t)at), 4);
	assert_memory_equal((char *)at, "abcd", 4);
	assert_dirty(s.t, s.p, 2, 3);
	close(fd);
	scene_end(&s);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(a_call_stores_and_is_seen_or_fails_with_efault),
		CASE_EACH(after_prepare_write_a_call_stores_and_is_seen),
		CASE_EACH(a_dirty_page_takes_calls_until_it_is_cleared),
		CASE_NEEDS(a_store_through_proc_mem_is_seen,
			   WTRACK_CAP_KERNEL_WRITES),
	};

	return RUN_CASES("kernel_writes", cases);
}
