/* SPDX-License-Identifier: MIT */
/*
 * uffd.c: userfaultfd write-protection, by hand.
 *
 * Holds what the headers of an older system lack in its own definitions and
 * shares nothing with the library.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HAND_USER_MODE_ONLY      1
#define HAND_IOC_NEW             _IO(0xAA, 0x00)
#define HAND_FEATURE_WP          (1u << 0)
#define HAND_FEATURE_UNPOPULATED (1u << 13)

static int open_door(void)
{
	int flags = O_CLOEXEC | O_NONBLOCK;
	int fd = (int)syscall(SYS_userfaultfd, flags | HAND_USER_MODE_ONLY);
	int dev;

	if (fd >= 0)
		return fd;
	dev = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	if (dev < 0)
		return -errno;
	fd = ioctl(dev, HAND_IOC_NEW, flags);
	fd = fd < 0 ? -errno : fd;
	close(dev);
	return fd;
}

int uffd_open(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = open_door();

	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api) != 0) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

int uffd_open_sync(struct contender *c, uint64_t features)
{
	c->uffd = uffd_open(features | HAND_FEATURE_WP |
			    HAND_FEATURE_UNPOPULATED);
	return c->uffd < 0 ? c->uffd : 0;
}

void uffd_close(struct contender *c)
{
	close(c->uffd);
}

static int protect(int uffd, unsigned char *addr, size_t len, uint64_t mode)
{
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)addr, len },
		.mode = mode,
	};
	int rc;

	/* Nobody else would wake a writer that waits. */
	do {
		rc = ioctl(uffd, UFFDIO_WRITEPROTECT, &wp);
	} while (rc != 0 && errno == EAGAIN);
	return rc;
}

bool uffd_release(int uffd, unsigned char *page, size_t len)
{
	return protect(uffd, page, len, 0) == 0;
}

static void arm(struct contender *c, unsigned char *addr, size_t len)
{
	if (protect(c->uffd, addr, len, UFFDIO_WRITEPROTECT_MODE_WP) != 0)
		bench_die("%s: UFFDIO_WRITEPROTECT: %s", c->ops->name,
			  strerror(errno));
}

void uffd_attach(struct contender *c, unsigned char *addr, size_t len)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)addr, len },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	if (ioctl(c->uffd, UFFDIO_REGISTER, &reg) != 0)
		bench_die("%s: UFFDIO_REGISTER: %s", c->ops->name,
			  strerror(errno));
	arm(c, addr, len);
}

void uffd_detach(struct contender *c, unsigned char *addr, size_t len)
{
	struct uffdio_range range = { (uintptr_t)addr, len };

	if (ioctl(c->uffd, UFFDIO_UNREGISTER, &range) != 0)
		bench_die("%s: UFFDIO_UNREGISTER: %s", c->ops->name,
			  strerror(errno));
}

size_t uffd_collect(struct contender *c, const struct span *span, bool clear)
{
	size_t n = dirtylog_take(clear);

	if (clear)
		arm(c, span->base, span->len);
	return n;
}
