/* SPDX-License-Identifier: MIT */
/* uffd.c: opens userfaultfd and pagemap, and speaks to them. */
#include "uffd.h"
#include "sys.h"
#include "uapi.h"
#include "wtrack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static struct wt_fd uffd = WT_FD_NONE;
static struct wt_fd pagemap = WT_FD_NONE;

/*
 * [K-uffd-api] A UFFDIO_API that asks for an unknown feature leaves the
 * descriptor unusable: so each door is one attempt on a descriptor of its own.
 */
static int handshake(int fd)
{
	struct wt_uffdio_api api;
	int rc;

	if (fd < 0)
		return fd;
	memset(&api, 0, sizeof(api));
	api.api = WT_UFFD_API;
	api.features = WT_FEATURE_WP_ASYNC | WT_FEATURE_WP_UNPOP |
		       WT_FEATURE_PAGEFAULT_WP | WT_FEATURE_WP_HUGE_SHM;
	rc = wt_sys_ioctl(fd, WT_UFFDIO_API, &api);
	if (rc < 0) {
		wt_sys_close(fd);
		return rc;
	}
	return fd;
}

static int open_device(void)
{
	int dev = wt_sys_open("/dev/userfaultfd", O_RDWR);
	int fd;

	if (dev < 0)
		return dev;
	fd = wt_sys_ioctl_value(dev, WT_USERFAULTFD_IOC_NEW,
				O_CLOEXEC | O_NONBLOCK);
	wt_sys_close(dev);
	return handshake(fd);
}

/* The one place that ranks the doors: whichever opens first is as good. */
static int open_doors(struct wt_doors *d)
{
	int fd = open_device();

	d->device = fd < 0 ? fd : 0;
	if (fd >= 0)
		return fd;
	fd = handshake(wt_sys_userfaultfd(0));
	d->syscall = fd < 0 ? fd : 0;
	if (fd >= 0)
		return fd;
	/* [K-user-mode-only] costs WP_ASYNC nothing. */
	fd = handshake(wt_sys_userfaultfd(WT_UFFD_USER_MODE_ONLY));
	d->user = fd < 0 ? fd : 0;
	return fd;
}

int wt_uffd_open(struct wt_doors *doors)
{
	int fd, pm;

	doors->device = WTRACK_NOT_TRIED;
	doors->syscall = WTRACK_NOT_TRIED;
	doors->user = WTRACK_NOT_TRIED;
	pm = wt_sys_open("/proc/self/pagemap", O_RDONLY);
	doors->pagemap = pm < 0 ? pm : 0;
	fd = open_doors(doors);
	if (fd < 0 || pm < 0) {
		wt_sys_close(fd);
		wt_sys_close(pm);
		return fd < 0 ? fd : pm;
	}
	wt_fd_keep(&uffd, fd);
	wt_fd_keep(&pagemap, pm);
	return 0;
}

void wt_uffd_close(void)
{
	wt_fd_close(&uffd);
	wt_fd_close(&pagemap);
}

int wt_uffd_register(uintptr_t start, uintptr_t end)
{
	struct wt_uffdio_register reg;

	memset(&reg, 0, sizeof(reg));
	reg.range.start = start;
	reg.range.len = end - start;
	reg.mode = WT_REGISTER_MODE_WP;
	return wt_sys_ioctl(uffd.fd, WT_UFFDIO_REGISTER, &reg);
}

int wt_uffd_unregister(uintptr_t start, uintptr_t end)
{
	struct wt_uffdio_range range = { start, end - start };

	return wt_sys_ioctl(uffd.fd, WT_UFFDIO_UNREGISTER, &range);
}

int wt_uffd_protect(uintptr_t start, uintptr_t end, bool arm)
{
	struct wt_uffdio_writeprotect wp = { { start, end - start },
					     arm ? WT_WRITEPROTECT_MODE_WP
						 : 0 };
	int rc;

	do {
		/* EAGAIN: the mappings are being changed; only a retry helps.
		 */
		rc = wt_sys_ioctl(uffd.fd, WT_UFFDIO_WRITEPROTECT, &wp);
	} while (rc == -EAGAIN);
	return rc;
}

static long scan(struct wt_pm_scan_arg *arg, uintptr_t *at, uintptr_t end,
		 struct wt_page_region *vec, size_t room)
{
	long rc;

	arg->size = sizeof(*arg);
	arg->start = *at;
	arg->end = end;
	arg->vec = (uintptr_t)vec;
	arg->vec_len = room;
	rc = wt_sys_ioctl(pagemap.fd, WT_PAGEMAP_SCAN, arg);
	/*
	 * [K-walk-end] is set to `end` on errors too; and after more than one
	 * kernel chunk of 512 regions it may tell where an earlier one ended,
	 * below regions that are already stored.
	 */
	if (rc >= 0 && (size_t)rc < room)
		*at = end;
	else if (rc > 0)
		*at = arg->walk_end > vec[rc - 1].end ? arg->walk_end
						      : vec[rc - 1].end;
	return rc;
}

long wt_pagemap_scan(uintptr_t *at, uintptr_t end, struct wt_page_region *vec,
		     size_t room, bool arm)
{
	struct wt_pm_scan_arg arg;

	memset(&arg, 0, sizeof(arg));
	/* [K-check-wpasync] Without the check a lost registration is silent. */
	arg.flags = WT_PM_CHECK_WPASYNC | (arm ? WT_PM_WP_MATCHING : 0);
	/* [K-short-loop] Exactly this mask is served by the short loops. */
	arg.category_mask = WT_PAGE_IS_WRITTEN;
	arg.return_mask = WT_PAGE_IS_WRITTEN;
	return scan(&arg, at, end, vec, room);
}

long wt_pagemap_registered(uintptr_t *at, uintptr_t end,
			   struct wt_page_region *vec, size_t room)
{
	struct wt_pm_scan_arg arg;

	memset(&arg, 0, sizeof(arg));
	arg.category_mask = WT_PAGE_IS_WPALLOWED;
	arg.return_mask = WT_PAGE_IS_WPALLOWED;
	return scan(&arg, at, end, vec, room);
}
