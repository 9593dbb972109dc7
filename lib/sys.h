/* SPDX-License-Identifier: MIT */
/*
 * sys.h: the only entries into the kernel, each returning a negative errno.
 *
 * errno is left alone: callers are allocators and fault handlers, where it
 * belongs to somebody else.
 */
#ifndef WT_SYS_H
#define WT_SYS_H

#include "page.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pollfd;

enum wt_sys {
	WT_SYS_OPEN,
	WT_SYS_CLOSE,
	WT_SYS_FSTAT,
	WT_SYS_PREAD,
	WT_SYS_IOCTL,
	WT_SYS_MMAP,
	WT_SYS_MUNMAP,
	WT_SYS_MREMAP,
	WT_SYS_MPROTECT,
	WT_SYS_MADVISE,
	WT_SYS_MSYNC,
	WT_SYS_USERFAULTFD,
	WT_SYS_PIPE,
	WT_SYS_READ,
	WT_SYS_WRITE,
	WT_SYS_TGSIGQUEUE,
	WT_SYS_YIELD,
	WT_SYS_POLL,
	WT_SYS_MEMBARRIER,
	WT_SYS_CALLS, /* how many; inject.c names them */
};

/*
 * Replaces a kernel entry in tests: returns true to answer with `*result`
 * instead of entering the kernel.  NULL outside of tests.
 */
typedef bool wt_sys_hook_fn(enum wt_sys id, const long args[6], long *result);
extern wt_sys_hook_fn *wt_sys_hook;

int wt_sys_open(const char *path, int flags);
void wt_sys_close(int fd);
ssize_t wt_sys_pread(int fd, void *buf, size_t len, off_t off);
int wt_sys_ioctl(int fd, unsigned long request, void *arg);
int wt_sys_ioctl_value(int fd, unsigned long request, unsigned long value);
int wt_sys_mmap(size_t len, void **out);
/* The same with MAP_SHARED, or more than MAP_PRIVATE, instead of it. */
int wt_sys_mmap_kind(size_t len, int kind, void **out);
void wt_sys_munmap(void *addr, size_t len);
int wt_sys_mremap(void *addr, size_t old_len, size_t new_len, void **out);
/* 0 or a negative errno; the mapping stays where it is. */
int wt_sys_mremap_in_place(uintptr_t addr, size_t old_len, size_t new_len);
int wt_sys_mprotect(uintptr_t addr, size_t len, int prot);
int wt_sys_madvise(uintptr_t addr, size_t len, int advice);
int wt_sys_msync_async(uintptr_t addr, size_t len);
int wt_sys_userfaultfd(unsigned flags);
int wt_sys_pipe(int fds[2]);
ssize_t wt_sys_read(int fd, void *buf, size_t len);
ssize_t wt_sys_write(int fd, const void *buf, size_t len);
int wt_sys_tgsigqueue(int sig, siginfo_t *info);
void wt_sys_yield(void);
/* Until one of them is ready. */
int wt_sys_poll(struct pollfd *fds, unsigned n);
/* A barrier on every thread of the process, if it registered for that. */
int wt_sys_membarrier(void);

/*
 * A descriptor that is kept, with the file it meant when it was opened.  Why:
 * daemons close every descriptor and open others under the same numbers; one
 * that is not ours any more must not be closed by us.
 */
struct wt_fd {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};
#define WT_FD_NONE       \
	{                \
		-1, 0, 0 \
	}

void wt_fd_keep(struct wt_fd *kept, int fd);
void wt_fd_close(struct wt_fd *kept);
/* Whether the number still means the file that was kept. */
bool wt_fd_is_ours(const struct wt_fd *kept);
/* Links to that file; 0 if the number means another, or none. */
size_t wt_fd_links(const struct wt_fd *kept);

/*
 * Blocks every signal but those that a fault raises, and saves the old mask.
 * Why: a thread must not be suspended by a signal (stop-the-world) while
 * others may wait for it.  [G4]
 */
void wt_signals_block(sigset_t *saved);
void wt_signals_restore(const sigset_t *saved);
/* Unblocks those that a write fault raises: blocked, the first would kill. */
void wt_faults_unblock(sigset_t *saved);

/* Nanoseconds that only go up; 0 if there is no clock. */
uint64_t wt_sys_now(void);

#endif
