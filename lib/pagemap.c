/* SPDX-License-Identifier: MIT */
/* pagemap.c: asks /proc/self/pagemap about pages: by scan, or entry by entry.
 */
#include "pagemap.h"
#include "uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

int wt_pagemap_open(struct wt_fd *pagemap)
{
	int fd = wt_sys_open("/proc/self/pagemap", O_RDONLY);

	if (fd < 0)
		return fd;
	wt_fd_keep(pagemap, fd);
	return 0;
}

static long scan(const struct wt_fd *pagemap, struct wt_pm_scan_arg *arg,
		 uintptr_t *at, uintptr_t end, struct wt_page_region *vec,
		 size_t room)
{
	long rc;

	arg->size = sizeof(*arg);
	arg->start = *at;
	arg->end = end;
	arg->vec = (uintptr_t)vec;
	arg->vec_len = room;
	rc = wt_sys_ioctl(pagemap->fd, WT_PAGEMAP_SCAN, arg);
	/*
	 * [K-walk-end] is set to `end` on errors too; and after more than one
	 * kernel chunk of regions it may tell where an earlier one ended,
	 * below regions that are already stored.
	 */
	if (rc >= 0 && (size_t)rc < room)
		*at = end;
	else if (rc > 0)
		*at = arg->walk_end > vec[rc - 1].end ? arg->walk_end
						      : vec[rc - 1].end;
	return rc;
}

long wt_pagemap_scan(const struct wt_fd *pagemap, uintptr_t *at, uintptr_t end,
		     struct wt_page_region *vec, size_t room, bool arm)
{
	struct wt_pm_scan_arg arg;

	memset(&arg, 0, sizeof(arg));
	/* [K-check-wpasync] Without the check a lost registration is silent. */
	arg.flags = WT_PM_CHECK_WPASYNC | (arm ? WT_PM_WP_MATCHING : 0);
	/* [K-short-loop] Exactly this mask is served by the short loops. */
	arg.category_mask = WT_PAGE_IS_WRITTEN;
	arg.return_mask = WT_PAGE_IS_WRITTEN;
	return scan(pagemap, &arg, at, end, vec, room);
}

long wt_pagemap_registered(const struct wt_fd *pagemap, uintptr_t *at,
			   uintptr_t end, struct wt_page_region *vec,
			   size_t room)
{
	struct wt_pm_scan_arg arg;

	memset(&arg, 0, sizeof(arg));
	arg.category_mask = WT_PAGE_IS_WPALLOWED;
	arg.return_mask = WT_PAGE_IS_WPALLOWED;
	return scan(pagemap, &arg, at, end, vec, room);
}

long wt_pagemap_populated(const struct wt_fd *pagemap, uintptr_t *at,
			  uintptr_t end, struct wt_page_region *vec,
			  size_t room)
{
	struct wt_pm_scan_arg arg;

	memset(&arg, 0, sizeof(arg));
	arg.category_anyof_mask = WT_PAGE_IS_PRESENT | WT_PAGE_IS_SWAPPED;
	arg.return_mask = WT_PAGE_IS_PRESENT | WT_PAGE_IS_SWAPPED;
	return scan(pagemap, &arg, at, end, vec, room);
}

long wt_pagemap_read(const struct wt_fd *pagemap, uintptr_t at, uint64_t *entry,
		     size_t n)
{
	off_t off = (off_t)((at >> wt_page_shift()) * sizeof(*entry));
	ssize_t got;

	got = wt_sys_pread(pagemap->fd, entry, n * sizeof(*entry), off);
	if (got < 0)
		return got;
	/* Whole entries are given, and less only past the last address. */
	return got ? got / (ssize_t)sizeof(*entry) : -EFAULT;
}

/* Entries read at once: 2 KiB of stack. */
#define ENTRIES 256

long wt_pagemap_read_populated(const struct wt_fd *pagemap, uintptr_t *at,
			       uintptr_t end, struct wt_page_region *vec,
			       size_t room)
{
	const uint64_t there = WT_ENTRY_PRESENT | WT_ENTRY_SWAPPED;
	uint64_t entry[ENTRIES];
	size_t n = 0;

	while (*at < end) {
		size_t left = (end - *at) >> wt_page_shift();
		long got = wt_pagemap_read(pagemap, *at, entry,
					   left < ENTRIES ? left : ENTRIES);

		if (got < 0)
			return got;
		for (long i = 0; i < got; i++, *at += wt_page_size()) {
			if (!(entry[i] & there))
				continue;
			if (n && vec[n - 1].end == *at) {
				vec[n - 1].end += wt_page_size();
				continue;
			}
			if (n == room)
				return (long)n;
			vec[n].start = *at;
			vec[n].end = *at + wt_page_size();
			n++;
		}
	}
	return (long)n;
}
