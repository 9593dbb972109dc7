/* SPDX-License-Identifier: MIT */
/* sys.c: the only file that enters the kernel. */
#include "sys.h"
#include "uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_userfaultfd
#define SYS_userfaultfd __NR_userfaultfd
#endif

wt_sys_hook_fn *wt_sys_hook;

/* Exactly six arguments follow the number; unused ones are 0. */
static long enter(enum wt_sys id, long nr, long a, long b, long c, long d,
		  long e)
{
	const long args[6] = { a, b, c, d, e, 0 };
	wt_sys_hook_fn *hook = __atomic_load_n(&wt_sys_hook, __ATOMIC_ACQUIRE);
	int saved = errno;
	long rc;

	if (hook && hook(id, args, &rc)) {
		errno = saved;
		return rc;
	}
	rc = syscall(nr, a, b, c, d, e, 0L);
	if (rc == -1)
		rc = -errno;
	errno = saved;
	return rc;
}

int wt_sys_open(const char *path, int flags)
{
	return (int)enter(WT_SYS_OPEN, SYS_openat, AT_FDCWD, (long)path,
			  flags | O_CLOEXEC, 0, 0);
}

void wt_sys_close(int fd)
{
	if (fd >= 0)
		enter(WT_SYS_CLOSE, SYS_close, fd, 0, 0, 0, 0);
}

ssize_t wt_sys_pread(int fd, void *buf, size_t len, off_t off)
{
	return enter(WT_SYS_PREAD, SYS_pread64, fd, (long)buf, (long)len, off,
		     0);
}

int wt_sys_ioctl(int fd, unsigned long request, void *arg)
{
	return (int)enter(WT_SYS_IOCTL, SYS_ioctl, fd, (long)request, (long)arg,
			  0, 0);
}

int wt_sys_ioctl_value(int fd, unsigned long request, unsigned long value)
{
	return (int)enter(WT_SYS_IOCTL, SYS_ioctl, fd, (long)request,
			  (long)value, 0, 0);
}

int wt_sys_mmap(size_t len, void **out)
{
	return wt_sys_mmap_kind(len, MAP_PRIVATE, out);
}

int wt_sys_mmap_kind(size_t len, int kind, void **out)
{
	long rc = -ENOMEM;

	wt_sys_hook_fn *hook = __atomic_load_n(&wt_sys_hook, __ATOMIC_ACQUIRE);
	const long args[6] = { 0, (long)len, 0, kind, 0, 0 };
	int saved = errno;
	void *p;

	/* mmap takes six arguments of its own, too many for enter(). */
	if (hook && hook(WT_SYS_MMAP, args, &rc)) {
		errno = saved;
		return (int)rc;
	}
	p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		 kind | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	rc = p == MAP_FAILED ? -errno : 0;
	errno = saved;
	if (!rc)
		*out = p;
	return (int)rc;
}

void wt_sys_munmap(void *addr, size_t len)
{
	enter(WT_SYS_MUNMAP, SYS_munmap, (long)addr, (long)len, 0, 0, 0);
}

int wt_sys_mremap(void *addr, size_t old_len, size_t new_len, void **out)
{
	long rc = enter(WT_SYS_MREMAP, SYS_mremap, (long)addr, (long)old_len,
			(long)new_len, MREMAP_MAYMOVE, 0);

	if (rc < 0 && rc > -4096)
		return (int)rc;
	*out = (void *)rc;
	return 0;
}

int wt_sys_mremap_in_place(uintptr_t addr, size_t old_len, size_t new_len)
{
	long rc = enter(WT_SYS_MREMAP, SYS_mremap, (long)addr, (long)old_len,
			(long)new_len, 0, 0);

	return rc < 0 && rc > -4096 ? (int)rc : 0;
}

int wt_sys_mprotect(uintptr_t addr, size_t len, int prot)
{
	return (int)enter(WT_SYS_MPROTECT, SYS_mprotect, (long)addr, (long)len,
			  prot, 0, 0);
}

int wt_sys_madvise(uintptr_t addr, size_t len, int advice)
{
	return (int)enter(WT_SYS_MADVISE, SYS_madvise, (long)addr, (long)len,
			  advice, 0, 0);
}

int wt_sys_msync_async(uintptr_t addr, size_t len)
{
	return (int)enter(WT_SYS_MSYNC, SYS_msync, (long)addr, (long)len,
			  MS_ASYNC, 0, 0);
}

int wt_sys_userfaultfd(unsigned flags)
{
	return (int)enter(WT_SYS_USERFAULTFD, SYS_userfaultfd,
			  (long)(flags | O_CLOEXEC | O_NONBLOCK), 0, 0, 0, 0);
}

int wt_sys_pipe(int fds[2])
{
	return (int)enter(WT_SYS_PIPE, SYS_pipe2, (long)fds, O_CLOEXEC, 0, 0,
			  0);
}

ssize_t wt_sys_read(int fd, void *buf, size_t len)
{
	return enter(WT_SYS_READ, SYS_read, fd, (long)buf, (long)len, 0, 0);
}

ssize_t wt_sys_write(int fd, const void *buf, size_t len)
{
	return enter(WT_SYS_WRITE, SYS_write, fd, (long)buf, (long)len, 0, 0);
}

int wt_sys_tgsigqueue(int sig, siginfo_t *info)
{
	return (int)enter(WT_SYS_TGSIGQUEUE, SYS_rt_tgsigqueueinfo, getpid(),
			  syscall(SYS_gettid), sig, (long)info, 0);
}

void wt_sys_yield(void)
{
	enter(WT_SYS_YIELD, SYS_sched_yield, 0, 0, 0, 0, 0);
}

int wt_sys_poll(struct pollfd *fds, unsigned n)
{
	return (int)enter(WT_SYS_POLL, SYS_ppoll, (long)fds, (long)n, 0, 0, 0);
}

int wt_sys_membarrier(void)
{
	return (int)enter(WT_SYS_MEMBARRIER, SYS_membarrier,
			  WT_MEMBARRIER_PRIVATE_EXPEDITED, 0, 0, 0, 0);
}

static int sys_fstat(int fd, struct stat *st)
{
	return (int)enter(WT_SYS_FSTAT, SYS_fstat, fd, (long)st, 0, 0, 0);
}

void wt_fd_keep(struct wt_fd *kept, int fd)
{
	struct stat st = { 0 };

	sys_fstat(fd, &st);
	kept->dev = st.st_dev;
	kept->ino = st.st_ino;
	__atomic_store_n(&kept->fd, fd, __ATOMIC_RELEASE);
}

static bool stat_ours(const struct wt_fd *kept, struct stat *st)
{
	int fd = __atomic_load_n(&kept->fd, __ATOMIC_ACQUIRE);

	return fd >= 0 && !sys_fstat(fd, st) && st->st_dev == kept->dev &&
	       st->st_ino == kept->ino;
}

bool wt_fd_is_ours(const struct wt_fd *kept)
{
	struct stat st;

	return stat_ours(kept, &st);
}

size_t wt_fd_links(const struct wt_fd *kept)
{
	struct stat st;

	return stat_ours(kept, &st) ? st.st_nlink : 0;
}

void wt_fd_close(struct wt_fd *kept)
{
	bool ours = wt_fd_is_ours(kept);
	int fd = __atomic_exchange_n(&kept->fd, -1, __ATOMIC_ACQ_REL);

	if (ours)
		wt_sys_close(fd);
}

void wt_signals_block(sigset_t *saved)
{
	sigset_t set;

	sigfillset(&set);
	/* Blocked, these would kill instead of reaching a handler. */
	sigdelset(&set, SIGSEGV);
	sigdelset(&set, SIGBUS);
	sigdelset(&set, SIGILL);
	sigdelset(&set, SIGFPE);
	sigdelset(&set, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &set, saved);
}

void wt_signals_restore(const sigset_t *saved)
{
	pthread_sigmask(SIG_SETMASK, saved, NULL);
}

void wt_faults_unblock(sigset_t *saved)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigaddset(&set, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &set, saved);
}

/* No entry into the kernel where the vDSO has the clock, which is the rule. */
uint64_t wt_sys_now(void)
{
	struct timespec ts = { 0, 0 };
	int saved = errno;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	errno = saved;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
