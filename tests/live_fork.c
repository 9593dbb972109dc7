/* SPDX-License-Identifier: MIT */
/*
 * live_fork.c: a forked child has all dirty once, then tracks for itself, and
 * its parent notices nothing.  [G7]
 */
#include "support_live.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

/* ---- ways to make a child ---- */

static pid_t by_fork(void)
{
	return fork();
}

/* No atfork handler sees these two. */
static pid_t by_clone(void)
{
	return (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
}

static pid_t by_bare_fork(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
	return _Fork();
#else
	return by_clone();
#endif
}

static pid_t (*const ways[])(void) = { by_fork, by_clone, by_bare_fork };

#define EACH_WAY(w) for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++)

struct scene {
	struct wtrack *t;
	struct mem m;
	pid_t (*make)(void);
};

/* Runs `f` in a child, and expects it to return. */
static void in_child(struct scene *s, void (*f)(struct scene *))
{
	pid_t child = s->make();
	int status = -1;

	if (!child) {
		alarm(100);
		f(s);
		_exit(0);
	}
	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(status == 0);
}

static struct scene scene(const char *backend, pid_t (*make)(void),
			  enum mem_kind kind)
{
	struct scene s = { open_on(backend), mem_map(kind, 16, true), make };

	watch_pages(s.t, &s.m, 0, 12, 0);
	return s;
}

static void end(struct scene *s)
{
	wtrack_close(s->t);
	mem_unmap(&s->m);
}

/* Everything watched is dirty, and marked; the rest is as before. */
static void expect_all_dirty(struct scene *s, unsigned flags)
{
	struct view v;

	view_collect(&v, s->t, &s->m, 3, flags);
	for (size_t i = 0; i < 16; i++)
		CHECK((v.flags[i] != 0) == (i < 12));
	for (size_t i = 0; i < 12; i++)
		CHECK(v.flags[i] & (WTRACK_RUN_INITIAL | WTRACK_RUN_UNTRACKED));
}

static void dirty_then_exact(struct scene *s)
{
	struct wtrack_range_info info = { .size = sizeof(info) };

	CHECK(wtrack_query(s->t, s->m.base, &info) == 0);
	CHECK(info.flags & WTRACK_RANGE_INITIAL);
	store(&s->m, 1);
	expect_all_dirty(s, WTRACK_GET);
	store(&s->m, 2);
	expect_all_dirty(s, BOTH);
	for (int round = 0; round < 3; round++) {
		expect_none(s->t, &s->m);
		store(&s->m, 3);
		store(&s->m, 11);
		expect_pages(s->t, &s->m, BOTH, 3, 11);
	}
	unwatch_pages(s->t, &s->m, 2, 4);
	watch_pages(s->t, &s->m, 3, 2, 0);
	watch_pages(s->t, &s->m, 12, 4, 0);
	store(&s->m, 4);
	store(&s->m, 15);
	expect_pages(s->t, &s->m, BOTH, 4, 15);
	wtrack_close(s->t);
}

/* Pages of its own for a child: else its first store to one kills it. */
static bool enough_huge_pages(void)
{
	struct mem m;

	if (mem_kind_lacks(MEM_HUGETLB))
		return false;
	m = mem_map(MEM_HUGETLB, 1, false);
	mem_unmap(&m);
	m.base = mmap(NULL, 31 * m.page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (m.base == MAP_FAILED)
		return false;
	munmap(m.base, 31 * m.page);
	return true;
}

static bool can_watch(const char *backend, enum mem_kind kind)
{
	struct wtrack *t = open_on(backend);
	bool can = watches_kind(t, kind);

	wtrack_close(t);
	return can;
}

/*
 * [K-huge-fork] A child that does not track, as a monitor's after a bare clone,
 * never gets through a store to huge pages that were clean in its parent.
 */
static bool stores_for_ever(const char *backend, enum mem_kind kind)
{
	return kind == MEM_HUGETLB && !strcmp(backend, "monitor") &&
	       lacks_scan();
}

static void a_child_has_all_dirty_once_and_then_tracks(void **state)
{
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		if (mem_kind_lacks((enum mem_kind)kind))
			continue;
		if (kind == MEM_HUGETLB && !enough_huge_pages())
			continue;
		EACH_WAY (w) {
			struct scene s;

			if (!can_watch(*state, (enum mem_kind)kind) ||
			    stores_for_ever(*state, (enum mem_kind)kind))
				continue;
			s = scene(*state, ways[w], (enum mem_kind)kind);
			store(&s.m, 5);
			in_child(&s, dirty_then_exact);
			end(&s);
		}
	}
}

/* The child clears again and again, snapshots and unwatches. */
static void steal(struct scene *s)
{
	struct wtrack_snapshot *snap = NULL;

	for (int i = 0; i < 50; i++) {
		clear_all(s->t);
		store(&s->m, 2);
		CHECK(wtrack_snapshot(s->t, &snap) == 0);
	}
	CHECK(wtrack_mark(s->t, s->m.base, s->m.page) == 0);
	unwatch_pages(s->t, &s->m, 0, 12);
	watch_pages(s->t, &s->m, 0, 12, 0);
	clear_all(s->t);
	if (snap)
		wtrack_snapshot_free(snap);
}

static void leave(struct scene *s)
{
	wtrack_close(s->t);
}

static void do_nothing(struct scene *s)
{
	(void)s;
}

static void a_child_steals_nothing_from_its_parent(void **state)
{
	static void (*const acts[])(struct scene *) = { steal, leave,
							do_nothing };

	EACH_WAY (w) {
		struct scene s = scene(*state, ways[w], MEM_ANON);

		for (size_t a = 0; a < 3; a++) {
			store(&s.m, 1);
			store(&s.m, 7);
			in_child(&s, acts[a]);
			store(&s.m, 8);
			expect_pages(s.t, &s.m, WTRACK_GET, 1, 7, 8);
			in_child(&s, acts[a]);
			expect_pages(s.t, &s.m, BOTH, 1, 7, 8);
			in_child(&s, acts[a]);
			expect_none(s.t, &s.m);
			store(&s.m, 7);
			expect_pages(s.t, &s.m, BOTH, 7);
		}
		end(&s);
	}
}

/* While the child clears without end, the parent's answers stay exact. */
static void a_child_steals_nothing_while_it_lives(void **state)
{
	EACH_WAY (w) {
		struct scene s = scene(*state, ways[w], MEM_ANON);
		pid_t child = s.make();
		int status;

		if (!child) {
			alarm(100);
			for (;;)
				steal(&s);
		}
		/* Or the kill() below would reach everybody. */
		assert_true(child > 0);
		for (int round = 0; round < 300; round++) {
			store(&s.m, (size_t)round % 12);
			expect_pages(s.t, &s.m, BOTH, (size_t)round % 12);
			expect_none(s.t, &s.m);
		}
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(WTERMSIG(status), SIGKILL);
		end(&s);
	}
}

static void grandchild(struct scene *s)
{
	in_child(s, dirty_then_exact);
	/* Its own epoch goes on whatever the grandchild did. */
	clear_all(s->t);
	store(&s->m, 6);
	in_child(s, steal);
	expect_pages(s->t, &s->m, BOTH, 6);
	in_child(s, dirty_then_exact);
	expect_none(s->t, &s->m);
}

static void a_child_may_have_children(void **state)
{
	EACH_WAY (w) {
		struct scene s = scene(*state, ways[w], MEM_ANON);

		/* Before the child's first call, and after it. */
		in_child(&s, grandchild);
		store(&s.m, 3);
		in_child(&s, grandchild);
		expect_pages(s.t, &s.m, BOTH, 3);
		end(&s);
	}
}

/* Stores of a child that makes no call are its own business, and harmless. */
static void store_only(struct scene *s)
{
	for (size_t i = 0; i < 16; i++)
		store(&s->m, i);
	memset(s->m.base, 7, 16 * s->m.page);
}

static void a_child_that_only_writes_is_left_alone(void **state)
{
	EACH_WAY (w) {
		struct scene s = scene(*state, ways[w], MEM_ANON);

		store(&s.m, 4);
		in_child(&s, store_only);
		expect_pages(s.t, &s.m, BOTH, 4);
		end(&s);
	}
}

static void vfork_and_exec_are_harmless(void **state)
{
	struct scene s = scene(*state, by_fork, MEM_ANON);

	for (int round = 0; round < 20; round++) {
		int status = -1;
		pid_t child;

		store(&s.m, 4);
		child = vfork();
		if (!child) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		store(&s.m, 5);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		expect_pages(s.t, &s.m, BOTH, 4, 5);
		expect_none(s.t, &s.m);
	}
	end(&s);
}

/* A handle that is opened in the child is a handle like any other. */
static void open_in_child(struct scene *s)
{
	struct wtrack *own = open_on("all");
	struct mem m = mem_map(MEM_ANON, 8, true);

	CHECK(wtrack_watch(own, s->m.base, s->m.page, 0) == -EBUSY);
	watch_pages(own, &m, 0, 8, 0);
	wtrack_close(s->t);
	wtrack_close(own);
}

static void a_child_may_open_and_close_handles(void **state)
{
	EACH_WAY (w) {
		struct scene s = scene(*state, ways[w], MEM_ANON);

		in_child(&s, open_in_child);
		store(&s.m, 4);
		expect_pages(s.t, &s.m, BOTH, 4);
		end(&s);
	}
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(a_child_has_all_dirty_once_and_then_tracks),
		CASE_EACH(a_child_steals_nothing_from_its_parent),
		CASE_EACH(a_child_steals_nothing_while_it_lives),
		CASE_EACH(a_child_may_have_children),
		CASE_EACH(a_child_that_only_writes_is_left_alone),
		CASE_EACH(vfork_and_exec_are_harmless),
		CASE_EACH(a_child_may_open_and_close_handles),
	};

	return RUN_CASES("fork", cases);
}
