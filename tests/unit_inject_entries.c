/* SPDX-License-Identifier: MIT */
/*
 * unit_inject_entries.c: each kernel entry can be made to fail, and only it.
 */
#include "support.h"

#include "inject.h"
#include "sys.h"
#include "uapi.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- every entry ---- */

/*
 * Each enters the kernel once, by the entry of its name.  Positive: it went
 * through; else what it returned, or 0 if it had no effect.
 */
static char buffer[8];
static int null_fd;
static char *pages; /* two */

static long do_open(void)
{
	int fd = wt_sys_open("/dev/null", O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 1;
}

static long do_close(void)
{
	int fd = dup(null_fd);
	bool open;

	wt_sys_close(fd);
	open = fcntl(fd, F_GETFD) >= 0;
	if (open)
		close(fd);
	return !open;
}

static long do_fstat(void)
{
	struct wt_fd kept = WT_FD_NONE;

	wt_fd_keep(&kept, null_fd);
	return kept.ino != 0;
}

static long do_pread(void)
{
	return 1 + wt_sys_pread(null_fd, buffer, 1, 0);
}

static long do_ioctl(void)
{
	return wt_sys_ioctl(null_fd, 0, NULL) == -ENOTTY;
}

static long do_mmap(void)
{
	void *p = NULL;
	int rc = wt_sys_mmap(page_size(), &p);

	if (!rc)
		munmap(p, page_size());
	return rc ? rc : 1;
}

static long do_munmap(void)
{
	char *p = map_pages(1);
	unsigned char resident;
	bool mapped;

	wt_sys_munmap(p, page_size());
	mapped = !mincore(p, page_size(), &resident);
	if (mapped)
		unmap_pages(p, 1);
	return !mapped;
}

static long do_mremap(void)
{
	void *p = pages;
	int rc = wt_sys_mremap(pages, 2 * page_size(), 2 * page_size(), &p);

	return rc ? rc : p == pages;
}

static long do_mprotect(void)
{
	return 1 + wt_sys_mprotect((uintptr_t)pages, page_size(),
				   PROT_READ | PROT_WRITE);
}

static long do_madvise(void)
{
	return 1 + wt_sys_madvise((uintptr_t)pages, page_size(), MADV_NORMAL);
}

static long do_msync(void)
{
	return 1 + wt_sys_msync_async((uintptr_t)pages, page_size());
}

static long do_userfaultfd(void)
{
	int fd = wt_sys_userfaultfd(WT_UFFD_USER_MODE_ONLY);

	if (fd >= 0)
		close(fd);
	return fd != -ELOOP; /* a kernel may refuse it for itself */
}

static long do_pipe(void)
{
	int fds[2], rc = wt_sys_pipe(fds);

	if (rc)
		return rc;
	close(fds[0]);
	close(fds[1]);
	return 1;
}

static long do_read(void)
{
	return 1 + wt_sys_read(null_fd, buffer, 1);
}

static long do_write(void)
{
	return wt_sys_write(null_fd, buffer, 1);
}

static long do_tgsigqueue(void)
{
	siginfo_t info = { 0 };

	info.si_code = SI_QUEUE;
	return 1 + wt_sys_tgsigqueue(SIGWINCH, &info);
}

static long do_poll(void)
{
	struct pollfd fd = { -1, 0, 0 };
	int pipe_fds[2], rc;

	assert_int_equal(pipe(pipe_fds), 0);
	fd.fd = pipe_fds[1];
	fd.events = POLLOUT;
	rc = wt_sys_poll(&fd, 1);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return rc;
}

/* liburcu has registered for it. */
static long do_membarrier(void)
{
	return 1 + wt_sys_membarrier();
}

/* Returns nothing and has no effect to be seen. */
static long do_yield(void)
{
	wt_sys_yield();
	return 1;
}

static const struct entry {
	const char *name;
	long (*enter)(void);
} entries[] = {
	{ "open", do_open },
	{ "close", do_close },
	{ "fstat", do_fstat },
	{ "pread", do_pread },
	{ "ioctl", do_ioctl },
	{ "mmap", do_mmap },
	{ "munmap", do_munmap },
	{ "mremap", do_mremap },
	{ "mprotect", do_mprotect },
	{ "madvise", do_madvise },
	{ "msync", do_msync },
	{ "userfaultfd", do_userfaultfd },
	{ "pipe", do_pipe },
	{ "read", do_read },
	{ "write", do_write },
	{ "tgsigqueue", do_tgsigqueue },
	{ "yield", do_yield },
	{ "poll", do_poll },
	{ "membarrier", do_membarrier },
};

#define N_ENTRIES (sizeof(entries) / sizeof(entries[0]))

static bool works(const struct entry *e)
{
	return e->enter() > 0;
}

static void setup(void)
{
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_true(null_fd >= 0);
	pages = map_pages(2);
}

static void teardown(void)
{
	assert_int_equal(wt_inject(""), 0);
	assert_null(wt_sys_hook);
	unmap_pages(pages, 2);
	close(null_fd);
}

static void rule(const char *call, const char *rest)
{
	char text[64];

	snprintf(text, sizeof(text), "%s:%s", call, rest);
	assert_int_equal(wt_inject(text), 0);
}

static bool is_mute(const struct entry *e)
{
	return !strcmp(e->name, "yield");
}

static void every_entry_fails_as_asked_and_no_other_does(void **state)
{
	(void)state;
	setup();
	for (size_t i = 0; i < N_ENTRIES; i++) {
		rule(entries[i].name, "ELOOP");
		for (size_t e = 0; e < N_ENTRIES; e++) {
			errno = 1234;
			if (works(&entries[e]) ==
			    (e == i && !is_mute(&entries[e])))
				fail_msg("%s under %s:ELOOP", entries[e].name,
					 entries[i].name);
		}
	}
	teardown();
}

static void only_the_nth_fails(void **state)
{
	(void)state;
	setup();
	for (size_t i = 0; i < N_ENTRIES; i++) {
		if (is_mute(&entries[i]))
			continue;
		rule(entries[i].name, "ELOOP@3");
		for (int n = 1; n <= 6; n++)
			assert_int_equal(works(&entries[i]), n != 3);
	}
	teardown();
}

static void with_a_plus_all_from_the_nth_on_fail(void **state)
{
	(void)state;
	setup();
	for (size_t i = 0; i < N_ENTRIES; i++) {
		if (is_mute(&entries[i]))
			continue;
		rule(entries[i].name, "ELOOP@3+");
		for (int n = 1; n <= 6; n++)
			assert_int_equal(works(&entries[i]), n < 3);
	}
	teardown();
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(every_entry_fails_as_asked_and_no_other_does),
		CASE(only_the_nth_fails),
		CASE(with_a_plus_all_from_the_nth_on_fail),
	};

	return RUN_CASES("inject entries", cases);
}
