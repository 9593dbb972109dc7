/* SPDX-License-Identifier: MIT */
/*
 * seccomp_play.c: what happens in a scene once the filter is loaded.
 *
 * What the test itself does then must not hide a rule that the library lacks.
 * So memory and threads are made before, and threads wait without entering the
 * kernel.
 */
#include "seccomp_scene.h"

#include "engine.h"
#include "sys.h"
#include "uapi.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES_USED 64
/* More ranges than a snapshot has room for at first. */
#define STRIPES 1100

static struct scene scene;
static struct wtrack *t;
static char *pages, *stripes, *huge_page, *no_page;
static size_t huge_len;
static int pid, tid;

/* ---- threads that wait without the kernel ---- */

enum turn {
	NOBODY,
	WRITER,
	HOLDER,
	MAIN
};
static int turn, yields, started;

static void wait_turn(enum turn mine)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != (int)mine)
		__asm__ volatile("" ::: "memory");
}

static void give_turn(enum turn next)
{
	__atomic_store_n(&turn, next, __ATOMIC_RELEASE);
}

/* Long enough for another thread to come and wait; or to be killed for it. */
static void linger(void)
{
	long n = scene.without < 0 ? 20000000 : 400000000;

	for (volatile long i = 0; i < n; i++)
		;
}

/* What libc does in a new thread is done when this returns. */
static void start(void *(*f)(void *))
{
	int before = __atomic_load_n(&started, __ATOMIC_ACQUIRE);
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, f, NULL));
	while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) == before)
		__asm__ volatile("" ::: "memory");
}

static void *write_pages(void *arg)
{
	__atomic_fetch_add(&started, 1, __ATOMIC_ACQ_REL);
	for (;;) {
		wait_turn(WRITER);
		for (size_t i = 1; i < PAGES_USED; i += 2)
			touch(pages, i);
		give_turn(MAIN);
	}
	return arg;
}

static __thread bool holding;

/* The holder meets this with the engine's lock in its hands. */
static void hold_lock(void)
{
	holding = false;
	give_turn(MAIN);
	linger();
}

static void *hold(void *arg)
{
	__atomic_fetch_add(&started, 1, __ATOMIC_ACQ_REL);
	wait_turn(HOLDER);
	if (scene.kind == SCENE_LOCK) {
		holding = true;
		CHECK(!wtrack_watch(t, pages, page_size(), 0));
	} else {
		wt_read_enter();
		give_turn(MAIN);
		/* Whoever waits has yielded, and goes on to sleep. */
		while (__atomic_load_n(&yields, __ATOMIC_ACQUIRE) < 1000)
			__asm__ volatile("" ::: "memory");
		linger();
		wt_read_leave();
	}
	give_turn(MAIN);
	for (;;)
		__asm__ volatile("" ::: "memory");
	return arg;
}

/* ---- what is refused or held, by the library's own kernel entry ---- */

static bool is_device(const char *path)
{
	return !strcmp(path, "/dev/userfaultfd");
}

static bool hook(enum wt_sys id, const long args[6], long *result)
{
	bool user = scene.kind == SCENE_USER, yes = false;

	*result = -ENOENT;
	if (id == WT_SYS_OPEN && (user || scene.kind == SCENE_SYSCALL))
		yes = is_device((const char *)args[1]);
	if (id == WT_SYS_USERFAULTFD && user)
		yes = !(args[0] & WT_UFFD_USER_MODE_ONLY);
	if (id == WT_SYS_IOCTL && scene.kind == SCENE_TEXT &&
	    args[1] == (long)WT_PROCMAP_QUERY) {
		*result = -ENOTTY;
		yes = true;
	}
	if (id == WT_SYS_MSYNC && holding)
		hold_lock();
	/* One is enough to see that it may: the others are slow. */
	if (id == WT_SYS_YIELD && scene.kind == SCENE_READER) {
		*result = 0;
		yes = __atomic_fetch_add(&yields, 1, __ATOMIC_ACQ_REL) > 0;
	}
	return yes;
}

/* ---- the scenes ---- */

static void see(size_t first)
{
	struct wtrack_run runs[PAGES_USED];
	ssize_t n = wtrack_collect(t, NULL, runs, PAGES_USED, WTRACK_GET);
	bool seen[PAGES_USED] = { false };

	CHECK(n > 0);
	for (ssize_t i = 0; i < n; i++)
		for (uintptr_t at = runs[i].start; at < runs[i].end;
		     at += page_size())
			seen[(at - (uintptr_t)pages) / page_size()] = true;
	for (size_t i = first; i < PAGES_USED; i += 2)
		CHECK(seen[i]);
}

static void use_calls(void)
{
	struct wtrack_range_info range = { .size = sizeof(range) };
	struct wtrack_info info = { .size = sizeof(info) };
	struct wtrack_stats stats = { .size = sizeof(stats) };
	size_t page = page_size();

	CHECK(wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR) == 0);
	CHECK(!wtrack_mark(t, pages + 3 * page, 1));
	CHECK(!wtrack_prepare_write(t, pages + 5 * page, 2 * page));
	CHECK(!wtrack_query(t, pages, &range));
	CHECK(!wtrack_info(t, &info) && !wtrack_stats(t, &stats));
	CHECK(!wtrack_unwatch(t, pages + 8 * page, page));
	CHECK(!wtrack_unwatch(t, pages, 8 * page));
}

static void use_snapshot(void)
{
	struct wtrack_snapshot *s = NULL;
	size_t page = page_size();

	for (size_t i = 0; i < 2 * STRIPES; i += 2)
		CHECK(!wtrack_watch(t, stripes + i * page, page, 0));
	for (size_t i = 0; i < 2 * STRIPES; i += 2)
		touch(stripes, i);
	CHECK(!wtrack_snapshot(t, &s));
	for (size_t i = 0; i < 2 * STRIPES; i += 2)
		CHECK(wtrack_snapshot_contains(s, stripes + i * page));
	wtrack_snapshot_free(s);
}

static void use_all(void)
{
	CHECK(!wtrack_watch(t, pages, PAGES_USED * page_size(), 0));
	for (size_t i = 0; i < PAGES_USED; i += 2)
		touch(pages, i);
	give_turn(WRITER);
	wait_turn(MAIN);
	see(0);
	see(1);
	CHECK(wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR) == 0);
	give_turn(WRITER);
	wait_turn(MAIN);
	see(1);
	use_calls();
	if (scene.kind == SCENE_USE)
		use_snapshot();
}

static void use_in_child(void)
{
	int status;
	pid_t child;

	CHECK(!wtrack_watch(t, pages, PAGES_USED * page_size(), 0));
	child = fork();
	if (!child) {
		see(0);
		CHECK(wtrack_collect(t, NULL, NULL, 0, WTRACK_CLEAR) == 0);
		for (size_t i = 1; i < PAGES_USED; i += 2)
			touch(pages, i);
		see(1);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void wait_for_holder(void)
{
	size_t page = page_size();

	CHECK(!wtrack_watch(t, pages + 2 * page, page, 0));
	/* Those before the filter do not count. */
	__atomic_store_n(&yields, 0, __ATOMIC_RELEASE);
	give_turn(HOLDER);
	wait_turn(MAIN);
	CHECK(!wtrack_unwatch(t, pages + 2 * page, page));
	wait_turn(MAIN);
}

void scene_act(struct wtrack *on)
{
	t = on;
	switch (scene.kind) {
	case SCENE_HUGE:
		CHECK(!wtrack_watch(t, huge_page, huge_len, 0));
		CHECK(!wtrack_mark(t, huge_page, huge_len));
		break;
	case SCENE_FORK:
		use_in_child();
		break;
	case SCENE_LOCK:
	case SCENE_READER:
		wait_for_holder();
		break;
	case SCENE_FAULT:
		*no_page = 1;
		break;
	case SCENE_SENT:
		syscall(SYS_tgkill, pid, tid, scene_signal(&scene));
		break;
	default:
		use_all();
	}
}

/* Memory that raises the backend's signal when it is written. */
static char *map_no_page(void)
{
	struct mem m = mem_map(MEM_MEMFD, 1, true);

	if (scene_signal(&scene) == SIGBUS)
		CHECK(!ftruncate(m.fd, 0));
	else
		CHECK(!mprotect(m.base, page_size(), PROT_NONE));
	return m.base;
}

void scene_prepare(const struct scene *s)
{
	scene = *s;
	pid = getpid();
	tid = (int)syscall(SYS_gettid);
	pages = map_pages(PAGES_USED);
	stripes = map_pages((size_t)2 * STRIPES);
	no_page = map_no_page();
	if (scene.kind == SCENE_HUGE) {
		struct mem m = mem_map(MEM_HUGETLB, 1, false);

		huge_page = m.base;
		huge_len = m.page;
	}
	start(write_pages);
	if (scene.kind == SCENE_LOCK || scene.kind == SCENE_READER)
		start(hold);
	at_the_door(hook);
}
