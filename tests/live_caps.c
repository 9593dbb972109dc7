/* SPDX-License-Identifier: MIT */
/*
 * live_caps.c: the table of capabilities in wtrack(7), both ways: a backend can
 * what it says, and cannot what it does not say.
 */
#include "support_live.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#define BOTH (WTRACK_GET | WTRACK_CLEAR)

struct scene {
	struct wtrack *t;
	struct mem m;
	const char *backend;
};

static struct scene begin(const char *backend)
{
	struct scene s = { open_on(backend), mem_map(MEM_ANON, 8, true),
			   backend };

	watch_pages(s.t, &s.m, 0, 8, 0);
	clear_all(s.t);
	return s;
}

static void finish(struct scene *s)
{
	wtrack_close(s->t);
	mem_unmap(&s->m);
}

static bool can(const struct scene *s, uint64_t cap)
{
	return caps_of(s->t) & cap;
}

static bool is_one_of(const char *backend, const char *a, const char *b)
{
	return !strcmp(backend, a) || !strcmp(backend, b);
}

static void precise(void **state)
{
	struct scene s = begin(*state);

	store(&s.m, 3);
	assert_true(look_at(s.t, &s.m, 3));
	assert_int_equal(look_at(s.t, &s.m, 4) == 0,
			 can(&s, WTRACK_CAP_PRECISE));
	finish(&s);
}

static void kernel_writes(void **state)
{
	struct scene s = begin(*state);
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	if (can(&s, WTRACK_CAP_KERNEL_WRITES)) {
		assert_int_equal(read(fds[0], page_of(&s.m, 2), 1), 1);
		assert_true(look_at(s.t, &s.m, 2));
	} else {
		assert_int_equal(read(fds[0], page_of(&s.m, 2), 1), -1);
		assert_int_equal(errno, EFAULT);
	}
	close(fds[0]);
	close(fds[1]);
	finish(&s);
}

/* Where the self-test denies it to `scan`, some discards are seen all the same.
 */
static void discard(void **state)
{
	struct scene s = begin(*state);
	uint64_t flags;

	assert_int_equal(madvise(page_of(&s.m, 5), s.m.page, MADV_DONTNEED), 0);
	flags = look_at(s.t, &s.m, 5);
	if (can(&s, WTRACK_CAP_DISCARD))
		assert_int_not_equal(flags, 0);
	else if (strcmp(s.backend, "scan") != 0)
		assert_int_equal(flags, 0);
	finish(&s);
}

static void loss(void **state)
{
	struct scene s = begin(*state);
	struct wtrack_run runs[8];
	uint64_t flags = 0;

	assert_ptr_equal(mmap(page_of(&s.m, 2), s.m.page,
			      PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 page_of(&s.m, 2));
	store(&s.m, 2);
	for (ssize_t i = wtrack_collect(s.t, NULL, runs, 8, BOTH); i-- > 0;)
		if (runs[i].start <= (uintptr_t)page_of(&s.m, 2) &&
		    runs[i].end > (uintptr_t)page_of(&s.m, 2))
			flags = runs[i].flags;
	assert_int_not_equal(flags, 0); /* never silent [G3] */
	assert_int_equal(!!(flags & WTRACK_RUN_LOST), can(&s, WTRACK_CAP_LOSS));
	finish(&s);
}

static bool is_default(int sig)
{
	struct sigaction now;

	sigaction(sig, NULL, &now);
	return now.sa_handler == SIG_DFL;
}

static void no_signal(void **state)
{
	struct scene s = begin(*state);

	assert_int_equal(is_default(SIGSEGV) && is_default(SIGBUS),
			 can(&s, WTRACK_CAP_NO_SIGNAL));
	finish(&s);
}

/* A file of tmpfs is shared memory. */
static bool is_in_memory(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == 0x01021994;
}

static void files(void **state)
{
	for (int kind = MEM_FILE_PRIVATE; kind <= MEM_FILE_SHARED; kind++) {
		struct wtrack *t = open_on(*state);
		struct mem m = mem_map((enum mem_kind)kind, 4, true);
		bool can = (caps_of(t) & WTRACK_CAP_FILES) ||
			   (is_one_of(*state, "wp", "monitor") &&
			    is_in_memory(m.fd));
		int rc = wtrack_watch(t, m.base, 4 * m.page, 0);

		assert_int_equal(rc, can ? 0 : -EINVAL);
		if (!rc) {
			store(&m, 1);
			assert_true(look_at(t, &m, 1));
		}
		wtrack_close(t);
		mem_unmap(&m);
	}
}

/* There and back: with mprotect that looks like a lost mapping. */
static void protect(void **state)
{
	struct scene s = begin(*state);
	uint64_t flags;

	mprotect(page_of(&s.m, 2), s.m.page, PROT_READ);
	mprotect(page_of(&s.m, 2), s.m.page, PROT_READ | PROT_WRITE);
	flags = look_at(s.t, &s.m, 2);
	if (is_precise(s.t) && can(&s, WTRACK_CAP_PROTECT))
		assert_int_equal(flags, 0);
	if (!strcmp(s.backend, "mprotect"))
		assert_int_not_equal(flags, 0);
	store(&s.m, 2);
	assert_true(look_at(s.t, &s.m, 2));
	finish(&s);
}

static void idle(struct teammate *self)
{
	(void)self;
	usleep(1000);
}

/* Another thread is there, and nobody promises that it does not write. */
static void concurrent(void **state)
{
	struct scene s = begin(*state);
	struct team team;

	team_init(&team, &s);
	team_add(&team, idle);
	store(&s.m, 3);
	clear_all(s.t);
	if (is_precise(s.t))
		assert_int_equal(look_at(s.t, &s.m, 3) == 0,
				 can(&s, WTRACK_CAP_CONCURRENT));
	team_end(&team);
	finish(&s);
}

static void grain(void **state)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct wtrack *t = NULL;
	int rc;

	options.backend = *state;
	options.grain = 2 * page_size();
	rc = wtrack_open(&options, &t);
	assert_int_equal(rc, is_one_of(*state, "scan", "async") ||
					     is_one_of(*state, "softdirty", "")
				     ? -EOPNOTSUPP
				     : 0);
	wtrack_close(t);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_EACH(precise),         CASE_EACH(kernel_writes),
		CASE_EACH(discard),         CASE_EACH(loss),
		CASE_FRESH_EACH(no_signal), CASE_EACH(files),
		CASE_EACH(protect),         CASE_EACH(concurrent),
		CASE_EACH(grain),
	};

	return RUN_FRESH_OR_ALL("caps", cases, argc, argv);
}
