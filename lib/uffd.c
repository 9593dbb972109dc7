/* SPDX-License-Identifier: MIT */
/* uffd.c: opens a userfaultfd by the first door that will, and speaks to it. */
#include "uffd.h"
#include "uapi.h"
#include "vma.h"
#include "wtrack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/*
 * [K-uffd-api] A UFFDIO_API that asks for an unknown feature leaves the
 * descriptor unusable: so each set of features is an attempt on a descriptor of
 * its own.
 */
int wt_uffd_handshake(int fd, uint64_t features)
{
	struct wt_uffdio_api api;
	int rc;

	if (fd < 0)
		return fd;
	memset(&api, 0, sizeof(api));
	api.api = WT_UFFD_API;
	api.features = features;
	rc = wt_sys_ioctl(fd, WT_UFFDIO_API, &api);
	if (rc < 0) {
		wt_sys_close(fd);
		return rc;
	}
	return fd;
}

int wt_uffd_from_device(void)
{
	int dev = wt_sys_open("/dev/userfaultfd", O_RDWR);
	int fd;

	if (dev < 0)
		return dev;
	fd = wt_sys_ioctl_value(dev, WT_USERFAULTFD_IOC_NEW,
				O_CLOEXEC | O_NONBLOCK);
	wt_sys_close(dev);
	return fd;
}

static int from_syscall(void)
{
	return wt_sys_userfaultfd(0);
}

/* [K-user-mode-only] costs WP_ASYNC nothing, and sync the kernel's writes. */
static int from_user(void)
{
	return wt_sys_userfaultfd(WT_UFFD_USER_MODE_ONLY);
}

/* Keeps what a door gives, with the best of the sets; 0 or why not. */
static int try_door(struct wt_uffd *u, int (*door)(void), const uint64_t *sets)
{
	int fd = -EINVAL;

	for (; *sets && fd == -EINVAL; sets++) {
		fd = wt_uffd_handshake(door(), *sets);
		u->features = *sets;
	}
	if (fd < 0)
		return fd;
	wt_fd_keep(&u->fd, fd);
	return 0;
}

int wt_uffd_open(struct wt_uffd *u, const uint64_t *sets,
		 struct wt_doors *doors)
{
	/* The one place that ranks the doors: the later can do less. */
	const struct {
		int (*open)(void);
		int *result;
	} door[] = {
		{ wt_uffd_from_device, &doors->device },
		{ from_syscall, &doors->syscall },
		{ from_user, &doors->user },
	};
	int rc = -ENOENT;

	for (size_t i = 0; i < 3; i++)
		*door[i].result = WTRACK_NOT_TRIED;
	for (size_t i = 0; i < 3 && rc; i++)
		rc = *door[i].result = try_door(u, door[i].open, sets);
	return rc;
}

void wt_uffd_close(struct wt_uffd *u)
{
	wt_fd_close(&u->fd);
}

int wt_uffd_register(const struct wt_uffd *u, uintptr_t start, uintptr_t end)
{
	struct wt_uffdio_register reg;

	memset(&reg, 0, sizeof(reg));
	reg.range.start = start;
	reg.range.len = end - start;
	reg.mode = WT_REGISTER_MODE_WP;
	return wt_sys_ioctl(u->fd.fd, WT_UFFDIO_REGISTER, &reg);
}

int wt_uffd_unregister(const struct wt_uffd *u, uintptr_t start, uintptr_t end)
{
	struct wt_uffdio_range range = { start, end - start };

	return wt_sys_ioctl(u->fd.fd, WT_UFFDIO_UNREGISTER, &range);
}

void wt_uffd_wake(const struct wt_uffd *u, uintptr_t start, uintptr_t end)
{
	struct wt_uffdio_range range = { start, end - start };

	wt_sys_ioctl(u->fd.fd, WT_UFFDIO_WAKE, &range);
}

static int protect(const struct wt_uffd *u, uintptr_t start, uintptr_t end,
		   uint64_t mode)
{
	struct wt_uffdio_writeprotect wp = { { start, end - start }, mode };
	int rc;

	do {
		/* EAGAIN: the mappings are being changed; only a retry helps.
		 */
		rc = wt_sys_ioctl(u->fd.fd, WT_UFFDIO_WRITEPROTECT, &wp);
	} while (rc == -EAGAIN);
	return rc;
}

/*
 * [K-wp-one-vma] Kernels before 6.12 may refuse a range of several mappings
 * (split by MADV_DONTDUMP, say): then each mapping is taken by itself.
 */
static int protect_each(const struct wt_uffd *u, uintptr_t start, uintptr_t end,
			uint64_t mode)
{
	struct wt_vma_walk w;
	struct wt_vma v;
	int rc = 0;

	wt_vma_walk_init(&w, start, false);
	while (!rc && start < end) {
		rc = wt_vma_walk_next(&w, &v);
		if (rc < 0)
			break;
		if (!rc || v.start > start)
			rc = -ENOENT;
		else
			rc = protect(u, start, v.end < end ? v.end : end, mode);
		start = v.end;
	}
	wt_vma_walk_end(&w);
	return rc;
}

static int protect_all(const struct wt_uffd *u, uintptr_t start, uintptr_t end,
		       uint64_t mode)
{
	int rc = protect(u, start, end, mode);

	return rc == -ENOENT ? protect_each(u, start, end, mode) : rc;
}

int wt_uffd_protect(const struct wt_uffd *u, uintptr_t start, uintptr_t end,
		    bool arm)
{
	return protect_all(u, start, end, arm ? WT_WRITEPROTECT_MODE_WP : 0);
}

int wt_uffd_unprotect_asleep(const struct wt_uffd *u, uintptr_t start,
			     uintptr_t end)
{
	return protect_all(u, start, end, WT_WRITEPROTECT_MODE_DONTWAKE);
}
