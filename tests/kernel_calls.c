/* SPDX-License-Identifier: MIT */
/* kernel_calls.c: a call of each kind that stores into memory of the caller. */
#include "kernel_calls.h"

#include "support.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char *filler(size_t len)
{
	/* Three pages of 64 KiB. */
	static char bytes[3 << 16];

	assert_true(len <= sizeof(bytes));
	memset(bytes, 'k', len);
	return bytes;
}

/* ---- from pipes, sockets and files ---- */

static void close_both(int fds[2])
{
	int saved = errno;

	close(fds[0]);
	close(fds[1]);
	errno = saved;
}

static ssize_t by_read(void *buf, size_t len)
{
	ssize_t n;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], filler(len), len), len);
	n = read(fds[0], buf, len);
	close_both(fds);
	return n;
}

static int socket_of(int type, size_t len, int fds[2])
{
	assert_int_equal(socketpair(AF_UNIX, type, 0, fds), 0);
	assert_int_equal(send(fds[1], filler(len), len, 0), len);
	return fds[0];
}

static ssize_t by_recvmsg(void *buf, size_t len)
{
	struct iovec v = { buf, len };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int fds[2];
	ssize_t n = recvmsg(socket_of(SOCK_STREAM, len, fds), &m, 0);

	close_both(fds);
	return n;
}

static ssize_t by_recvfrom(void *buf, size_t len)
{
	int fds[2];
	ssize_t n = recvfrom(socket_of(SOCK_DGRAM, len, fds), buf, len, 0, NULL,
			     NULL);

	close_both(fds);
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

static ssize_t close_after(int fd, ssize_t n)
{
	int saved = errno;

	close(fd);
	errno = saved;
	return n;
}

static ssize_t by_pread(void *buf, size_t len)
{
	int fd = file_of(len);

	return close_after(fd, pread(fd, buf, len, 0));
}

/* Longer than stdio's buffer: it reads straight into the caller's. */
static ssize_t by_fread(void *buf, size_t len)
{
	FILE *f = fdopen(file_of(len), "r");
	size_t n;
	int saved;

	assert_non_null(f);
	n = fread(buf, 1, len, f);
	saved = errno;
	fclose(f);
	errno = saved;
	return n == len ? (ssize_t)n : -1;
}

static ssize_t by_readv(void *buf, size_t len)
{
	struct iovec v[2] = { { buf, len / 2 },
			      { (char *)buf + len / 2, len - len / 2 } };
	int fd = file_of(len);

	return close_after(fd, readv(fd, v, 2));
}

static ssize_t by_preadv(void *buf, size_t len)
{
	struct iovec v[2] = { { buf, len / 3 },
			      { (char *)buf + len / 3, len - len / 3 } };
	int fd = file_of(len);

	return close_after(fd, preadv(fd, v, 2, 0));
}

/* ---- past the page cache ---- */

static int direct_file(size_t len)
{
	char name[] = "wtrack-test-XXXXXX";
	int fd = mkostemp(name, O_DIRECT);
	static char *pages;

	if (fd < 0)
		return -1;
	unlink(name);
	if (!pages)
		pages = map_pages(16);
	memset(pages, 'k', len);
	if (write(fd, pages, len) == (ssize_t)len && !lseek(fd, 0, SEEK_SET))
		return fd;
	close(fd);
	return -1;
}

static const char *lacks_direct(void)
{
	int fd = direct_file(page_size());

	close(fd);
	return fd < 0 ? "the working directory has no O_DIRECT" : NULL;
}

static ssize_t by_direct_read(void *buf, size_t len)
{
	int fd = direct_file(len);

	assert_true(fd >= 0);
	return close_after(fd, read(fd, buf, len));
}

/* ---- from another process ---- */

static ssize_t by_process_vm_writev(void *buf, size_t len)
{
	struct iovec from = { filler(len), len }, to = { buf, len };

	return process_vm_writev(getpid(), &from, 1, &to, 1, 0);
}

struct pushed {
	void *buf;
	size_t len;
	pid_t to;
};

/* A child has its own tracking, and does not call the library. */
static void push(void *arg)
{
	const struct pushed *p = arg;
	struct iovec from = { filler(p->len), p->len }, to = { p->buf, p->len };
	ssize_t n = process_vm_writev(p->to, &from, 1, &to, 1, 0);

	_exit(n == (ssize_t)p->len ? 0 : n < 0 ? errno : 255);
}

static ssize_t by_a_child(void *buf, size_t len)
{
	struct pushed p = { buf, len, getpid() };
	int status;

	/* Where Yama lets only parents do it. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	status = run_in_child(push, &p);
	assert_true(WIFEXITED(status));
	errno = WEXITSTATUS(status);
	return errno ? -1 : (ssize_t)len;
}

/* ---- from the kernel itself ---- */

static ssize_t by_getrandom(void *buf, size_t len)
{
	return getrandom(buf, len, 0);
}

static ssize_t zero_or_error(long rc)
{
	return rc < 0 ? -1 : 0;
}

static ssize_t by_getcwd(void *buf, size_t len)
{
	(void)len;
	return zero_or_error(syscall(SYS_getcwd, buf, 1024L));
}

static ssize_t by_readlink(void *buf, size_t len)
{
	(void)len;
	return zero_or_error(readlink("/proc/self", buf, 64));
}

static ssize_t by_getdents(void *buf, size_t len)
{
	int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)len;
	return close_after(
		fd, zero_or_error(syscall(SYS_getdents64, fd, buf, 1024L)));
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

static ssize_t by_pipe(void *buf, size_t len)
{
	ssize_t rc = pipe(buf);

	(void)len;
	if (!rc)
		close_both(buf);
	return rc;
}

/* Its descriptor is negative, so it only stores that nothing happened. */
static ssize_t by_poll(void *buf, size_t len)
{
	(void)len;
	return poll(buf, 1, 0);
}

const struct kernel_call kernel_calls[] = {
	{ "read", by_read, CALL_LONG, NULL },
	{ "pread", by_pread, CALL_LONG, NULL },
	{ "fread", by_fread, CALL_LONG, NULL },
	{ "readv", by_readv, CALL_LONG, NULL },
	{ "preadv", by_preadv, CALL_LONG, NULL },
	{ "read with O_DIRECT", by_direct_read, CALL_PAGES, lacks_direct },
	{ "recvmsg", by_recvmsg, CALL_LONG, NULL },
	{ "recvfrom", by_recvfrom, CALL_LONG, NULL },
	{ "process_vm_writev", by_process_vm_writev, CALL_LONG, NULL },
	{ "process_vm_writev by a child", by_a_child, CALL_LONG, NULL },
	{ "getrandom", by_getrandom, CALL_LONG, NULL },
	{ "getcwd", by_getcwd, CALL_SMALL, NULL },
	{ "readlink", by_readlink, CALL_SMALL, NULL },
	{ "getdents", by_getdents, CALL_SMALL, NULL },
	{ "clock_gettime", by_clock_gettime, CALL_SMALL, NULL },
	{ "fstat", by_fstat, CALL_SMALL, NULL },
	{ "pipe", by_pipe, CALL_SMALL, NULL },
	{ "poll", by_poll, CALL_SMALL, NULL },
};

const size_t n_kernel_calls = sizeof(kernel_calls) / sizeof(kernel_calls[0]);
