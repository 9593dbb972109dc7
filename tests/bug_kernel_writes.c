/* SPDX-License-Identifier: MIT */
/*
 * bug_kernel_writes.c: system calls that store into watched memory.
 *
 * bdwgc/bdwgc#25: read() into a protected heap fails with EFAULT, and the
 * connection is dropped.  LunarG/gfxreconstruct#686: fread() returns short.
 * LunarG/gfxreconstruct PR#732, FEX-Emu/FEX#3942, mattias800/prosper PR#1147:
 * which calls fail, and that they can, must be known at run time.
 */
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* ---- calls that store `len` bytes at `buf`; what they return ---- */

static char *filler(size_t len)
{
	static char bytes[1 << 17];

	assert_true(len <= sizeof(bytes));
	memset(bytes, 'k', len);
	return bytes;
}

static ssize_t by_read(void *buf, size_t len)
{
	ssize_t n;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], filler(len), len), len);
	n = read(fds[0], buf, len);
	close(fds[0]);
	close(fds[1]);
	return n;
}

static int file_of(size_t len)
{
	struct mem m = mem_map(MEM_FILE_SHARED, len / page_size() + 1, false);
	int fd = dup(m.fd);

	memcpy(m.base, filler(len), len);
	mem_unmap(&m);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static ssize_t by_pread(void *buf, size_t len)
{
	int fd = file_of(len);
	ssize_t n = pread(fd, buf, len, 0);

	close(fd);
	return n;
}

/* Longer than stdio's buffer: it reads straight into the caller's. */
static ssize_t by_fread(void *buf, size_t len)
{
	FILE *f = fdopen(file_of(len), "r");
	size_t n;

	assert_non_null(f);
	n = fread(buf, 1, len, f);
	fclose(f);
	return n == len ? (ssize_t)n : -1;
}

static ssize_t by_readv(void *buf, size_t len)
{
	struct iovec v[2] = { { buf, len / 2 },
			      { (char *)buf + len / 2, len - len / 2 } };
	int fd = file_of(len);
	ssize_t n = readv(fd, v, 2);

	close(fd);
	return n;
}

static ssize_t by_recvmsg(void *buf, size_t len)
{
	struct iovec v = { buf, len };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	ssize_t n;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(send(fds[1], filler(len), len, 0), len);
	n = recvmsg(fds[0], &m, 0);
	close(fds[0]);
	close(fds[1]);
	return n;
}

static ssize_t by_getrandom(void *buf, size_t len)
{
	return getrandom(buf, len, 0);
}

static ssize_t by_clock_gettime(void *buf, size_t len)
{
	(void)len;
	/* Not by the vdso, which stores as the program does. */
	return syscall(SYS_clock_gettime, CLOCK_MONOTONIC, buf);
}

static ssize_t by_fstat(void *buf, size_t len)
{
	(void)len;
	return syscall(SYS_fstat, 0, buf);
}

static ssize_t by_process_vm_writev(void *buf, size_t len)
{
	struct iovec from = { filler(len), len }, to = { buf, len };

	return process_vm_writev(getpid(), &from, 1, &to, 1, 0);
}

/* What a call does when it may store: bytes, or just success. */
static const struct call {
	const char *name;
	ssize_t (*f)(void *buf, size_t len);
	size_t len; /* of small structures; 0: as long as the test wants */
} calls[] = {
	{ "read", by_read, 0 },
	{ "pread", by_pread, 0 },
	{ "fread", by_fread, 0 },
	{ "readv", by_readv, 0 },
	{ "recvmsg", by_recvmsg, 0 },
	{ "getrandom", by_getrandom, 0 },
	{ "process_vm_writev", by_process_vm_writev, 0 },
	{ "clock_gettime", by_clock_gettime, sizeof(struct timespec) },
	{ "fstat", by_fstat, sizeof(struct stat) },
};

#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

/* ---- the cases ---- */

struct scene {
	struct wtrack *t;
	char *p;
};

static struct scene scene_on(const char *backend)
{
	struct scene s = { open_on(backend), NULL };

	s.p = map_watched(s.t, 8);
	return s;
}

static void scene_end(struct scene *s)
{
	wtrack_close(s->t);
	unmap_pages(s->p, 8);
}

/* Into pages 2, 3 and 4, or for a small structure into 2. */
static ssize_t store(const struct call *c, char *p, size_t *len)
{
	*len = c->len ? c->len : 2 * page_size() + 100;
	return c->f(p + 2 * page_size() + 8, *len);
}

static void assert_stored(const struct call *c, ssize_t n, size_t len)
{
	if (n != (c->len ? 0 : (ssize_t)len))
		fail_msg("%s returned %zd, errno %d", c->name, n, errno);
}

static void assert_reported(struct scene *s, const struct call *c)
{
	if (c->len)
		assert_dirty(s->t, s->p, 2);
	else
		assert_dirty(s->t, s->p, 2, 3, 4);
}

static void a_system_call_stores_and_is_seen(void **state)
{
	struct scene s = scene_on(*state);

	for (size_t i = 0; i < N_CALLS; i++) {
		size_t len;
		ssize_t n = store(&calls[i], s.p, &len);

		assert_stored(&calls[i], n, len);
		assert_reported(&s, &calls[i]);
		clear_all(s.t);
	}
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
		assert_int_equal(wtrack_prepare_write(s.t, (char *)at, 4), 0);
	assert_int_equal(pwrite(fd, "abcd", 4, (off_t)at), 4);
	assert_memory_equal((char *)at, "abcd", 4);
	assert_dirty(s.t, s.p, 2, 3);
	close(fd);
	scene_end(&s);
}

/* Whatever the backend: the way to be sure that a system call works. */
static void after_prepare_write_a_system_call_stores(void **state)
{
	struct scene s = scene_on(*state);
	size_t page = page_size();

	for (size_t i = 0; i < N_CALLS; i++) {
		size_t len = calls[i].len ? calls[i].len : 2 * page + 100;
		ssize_t n;

		assert_int_equal(
			wtrack_prepare_write(s.t, s.p + 2 * page + 8, len), 0);
		n = store(&calls[i], s.p, &len);
		assert_stored(&calls[i], n, len);
		assert_reported(&s, &calls[i]);
		clear_all(s.t);
		/* And after the clearing stores are seen as ever. */
		assert_clean(s.t);
		touch(s.p, 3);
		assert_dirty(s.t, s.p, 3);
		clear_all(s.t);
	}
	scene_end(&s);
}

/* The capability tells the truth: it works, or fails with nothing reported. */
static void the_capability_says_whether_read_works(void **state)
{
	struct scene s = scene_on(*state);
	bool works = caps_of(s.t) & WTRACK_CAP_KERNEL_WRITES;
	size_t page = page_size();
	ssize_t n = by_read(s.p + page, 10);

	if (works) {
		assert_int_equal(n, 10);
		assert_dirty(s.t, s.p, 1);
	} else {
		assert_int_equal(n, -1);
		assert_int_equal(errno, EFAULT);
		assert_clean(s.t);
	}
	scene_end(&s);
}

/* Nothing is left half: a page that was written before takes more. */
static void a_dirty_page_takes_system_calls_until_it_is_cleared(void **state)
{
	struct scene s = scene_on(*state);
	size_t page = page_size();

	touch(s.p, 2);
	assert_int_equal(by_read(s.p + 2 * page, page), page);
	assert_dirty(s.t, s.p, 2);
	scene_end(&s);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_NEEDS(a_system_call_stores_and_is_seen,
			   WTRACK_CAP_KERNEL_WRITES),
		CASE_NEEDS(a_store_through_proc_mem_is_seen,
			   WTRACK_CAP_KERNEL_WRITES),
		CASE_EACH(after_prepare_write_a_system_call_stores),
		CASE_EACH(the_capability_says_whether_read_works),
		CASE_EACH(a_dirty_page_takes_system_calls_until_it_is_cleared),
	};

	return RUN_CASES("kernel_writes", cases);
}
