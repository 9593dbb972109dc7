/* SPDX-License-Identifier: MIT */
/*
 * uffd.h: a room's userfaultfd, and the doors to it.
 *
 * One for all handles of a room, because a mapping can belong to one only.
 */
#ifndef WT_UFFD_H
#define WT_UFFD_H

#include "sys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What each door answered: 0, a negative errno, or WTRACK_NOT_TRIED. */
struct wt_doors {
	int device;
	int syscall;
	int user;
	int pagemap;
};
#define WT_DOORS_NOT_TRIED                                            \
	{                                                             \
		WTRACK_NOT_TRIED, WTRACK_NOT_TRIED, WTRACK_NOT_TRIED, \
			WTRACK_NOT_TRIED,                             \
	}

struct wt_uffd {
	struct wt_fd fd;
	uint64_t features; /* WT_FEATURE_* that it has */
};
#define WT_UFFD_NONE           \
	{                      \
		WT_FD_NONE, 0, \
	}

/*
 * Opens the first door that gives one of the sets of features, best first and
 * 0 behind the last.  `doors` is filled in but for pagemap, failure or not.
 */
int wt_uffd_open(struct wt_uffd *u, const uint64_t *sets,
		 struct wt_doors *doors);
void wt_uffd_close(struct wt_uffd *u);

/* A bare descriptor by the device, without a handshake; or a negative errno. */
int wt_uffd_from_device(void);
/* Asks for these features; on error, which it returns, `fd` is closed. */
int wt_uffd_handshake(int fd, uint64_t features);

/* Page-aligned; negative errno of the ioctl. */
int wt_uffd_register(const struct wt_uffd *u, uintptr_t start, uintptr_t end);
int wt_uffd_unregister(const struct wt_uffd *u, uintptr_t start, uintptr_t end);
/*
 * Lets all that wait for a fault of the range to be resolved try again.
 * [K-unregister-wake] Unregistering does not, for write faults.
 */
void wt_uffd_wake(const struct wt_uffd *u, uintptr_t start, uintptr_t end);
/* Arms (write-protects) or un-arms every page of the range. */
int wt_uffd_protect(const struct wt_uffd *u, uintptr_t start, uintptr_t end,
		    bool arm);
/* Un-arms, and leaves those who wait asleep until wt_uffd_wake(). */
int wt_uffd_unprotect_asleep(const struct wt_uffd *u, uintptr_t start,
			     uintptr_t end);

#endif
