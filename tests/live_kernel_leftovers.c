/* SPDX-License-Identifier: MIT */
/*
 * live_kernel_leftovers.c: what becomes of data that a call took and could not
 * store: where it fails with EFAULT, some sources still have it, others do not.
 *
 * wtrack_prepare_write(3) lists both.  Only the first are promised, by the
 * kernel: of the second is told what it does here.
 */
#include "kernel_calls.h"
#include "support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- sources: a descriptor to read from, and how much there is ---- */

static int from_pipe(size_t *len)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*len = 2 * page_size();
	assert_int_equal(write(fds[1], filler(*len), *len), *len);
	close(fds[1]);
	return fds[0];
}

static int from_file(size_t *len)
{
	struct mem m = mem_map(MEM_FILE_SHARED, 2, false);
	int fd = dup(m.fd);

	*len = 2 * page_size();
	memcpy(m.base, filler(*len), *len);
	mem_unmap(&m);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int from_unix(int type, size_t *len)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, type, 0, fds), 0);
	*len = 2 * page_size();
	assert_int_equal(send(fds[1], filler(*len), *len, 0), *len);
	close(fds[1]);
	return fds[0];
}

static int from_unix_stream(size_t *len)
{
	return from_unix(SOCK_STREAM, len);
}

static int from_unix_datagram(size_t *len)
{
	return from_unix(SOCK_DGRAM, len);
}

/* A socket of the loopback that is bound; -1: there is none. */
static int bound_socket(int type, struct sockaddr_in *name)
{
	int fd = socket(AF_INET, type, 0);
	socklen_t size = sizeof(*name);

	memset(name, 0, sizeof(*name));
	name->sin_family = AF_INET;
	name->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)name, sizeof(*name)) ||
	    getsockname(fd, (struct sockaddr *)name, &size)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int send_to(int type, const struct sockaddr_in *name, size_t len)
{
	int fd = socket(AF_INET, type, 0);

	assert_int_equal(
		connect(fd, (const struct sockaddr *)name, sizeof(*name)), 0);
	assert_int_equal(send(fd, filler(len), len, 0), len);
	return fd;
}

static int from_tcp(size_t *len)
{
	struct sockaddr_in name;
	int listener = bound_socket(SOCK_STREAM, &name), to, from;

	if (listener < 0 || listen(listener, 1))
		return -1;
	*len = page_size();
	from = send_to(SOCK_STREAM, &name, *len);
	to = accept(listener, NULL, NULL);
	assert_true(to >= 0);
	close(from);
	close(listener);
	return to;
}

static int from_udp(size_t *len)
{
	struct sockaddr_in name;
	int to = bound_socket(SOCK_DGRAM, &name);

	*len = 1024;
	if (to >= 0)
		close(send_to(SOCK_DGRAM, &name, *len));
	return to;
}

static int from_eventfd(size_t *len)
{
	*len = sizeof(uint64_t);
	return eventfd(7, EFD_CLOEXEC);
}

static int from_timerfd(size_t *len)
{
	const struct itimerspec soon = { { 0, 0 }, { 0, 1 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	assert_int_equal(timerfd_settime(fd, 0, &soon, NULL), 0);
	*len = sizeof(uint64_t);
	return fd;
}

static int from_signalfd(size_t *len)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR2);
	*len = sizeof(struct signalfd_siginfo);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int from_inotify(size_t *len)
{
	int fd = inotify_init1(IN_CLOEXEC);

	assert_true(inotify_add_watch(fd, "/proc/self/exe", IN_OPEN) >= 0);
	close(open("/proc/self/exe", O_RDONLY));
	*len = sizeof(struct inotify_event);
	return fd;
}

static const struct source {
	const char *name;
	int (*open)(size_t *len);
	bool keeps; /* what could not be stored */
} sources[] = {
	{ "a pipe", from_pipe, true },
	{ "a file", from_file, true },
	{ "a stream socket", from_unix_stream, true },
	{ "a TCP socket", from_tcp, true },
	{ "a datagram socket", from_unix_datagram, false },
	{ "a UDP socket", from_udp, false },
	{ "an eventfd", from_eventfd, false },
	{ "a timerfd", from_timerfd, false },
	{ "a signalfd", from_signalfd, false },
	{ "an inotify descriptor", from_inotify, false },
};

/* ---- the cases ---- */

/* Reads again, into memory that is not watched. */
static bool is_still_there(int fd, size_t len)
{
	static char bytes[1 << 16];
	ssize_t n;

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	n = read(fd, bytes, len);
	return n == (ssize_t)len;
}

static void refuse(struct wtrack *t, char *p, const struct source *s)
{
	size_t len = 0;
	int fd = s->open(&len);
	bool kept;

	if (fd < 0) {
		printf("# %s left out: there is none here\n", s->name);
		return;
	}
	assert_int_equal(read(fd, p + page_size(), len), -1);
	assert_int_equal(errno, EFAULT);
	assert_clean(t);
	kept = is_still_there(fd, len);
	printf("# %s %s what could not be stored\n", s->name,
	       kept ? "keeps" : "loses");
	assert_true(kept || !s->keeps);
	close(fd);
}

#define EACH_SOURCE(s)                         \
	for (const struct source *s = sources; \
	     s < sources + sizeof(sources) / sizeof(sources[0]); s++)

static void what_fails_stays_where_the_kernel_keeps_it(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 8);

	if (!(caps_of(t) & WTRACK_CAP_KERNEL_WRITES))
		EACH_SOURCE (s)
			refuse(t, p, s);
	wtrack_close(t);
	unmap_pages(p, 8);
}

/* With wtrack_prepare_write(), from any source and on every backend. */
static void what_is_prepared_loses_nothing(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 8);

	EACH_SOURCE (s) {
		size_t len = 0;
		int fd = s->open(&len);

		if (fd < 0)
			continue;
		assert_returns(0,
			       wtrack_prepare_write(t, p + page_size(), len));
		assert_int_equal(read(fd, p + page_size(), len), len);
		assert_true(is_dirty(t, p + page_size()));
		clear_all(t);
		close(fd);
	}
	wtrack_close(t);
	unmap_pages(p, 8);
}

/* Where a clean page begins, a read ends, and the rest can be had later. */
static void a_short_read_leaves_the_rest(void **state)
{
	struct wtrack *t = open_on(*state);
	size_t page = page_size(), len;
	char *p = map_watched(t, 8);
	int fd = from_pipe(&len);
	ssize_t n;

	touch(p, 1);
	n = read(fd, p + page, len);
	if (caps_of(t) & WTRACK_CAP_KERNEL_WRITES) {
		assert_int_equal(n, len);
		assert_dirty(t, p, 1, 2);
	} else {
		assert_int_equal(n, page);
		assert_dirty(t, p, 1);
		assert_true(is_still_there(fd, len - page));
	}
	close(fd);
	wtrack_close(t);
	unmap_pages(p, 8);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(what_fails_stays_where_the_kernel_keeps_it),
		CASE_EACH(what_is_prepared_loses_nothing),
		CASE_EACH(a_short_read_leaves_the_rest),
	};

	return RUN_CASES("kernel_leftovers", cases);
}
