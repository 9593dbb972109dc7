/* SPDX-License-Identifier: MIT */
/* fastpaths_stage.c: memory, userfaultfd, faults and scans for the questions.
 */
#include "fastpaths_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 5

size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

size_t block_bytes(void)
{
	return page_bytes() / sizeof(uint64_t) * page_bytes();
}

char *map_blocks(size_t len)
{
	size_t block = block_bytes();
	char *p = mmap(NULL, len + block, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		answer_refused("mmap", -errno);
	/* Where it fails, there are no huge pages. */
	madvise(p, len + block, MADV_NOHUGEPAGE);
	return p + (-(uintptr_t)p & (block - 1));
}

/* ---- userfaultfd ---- */

static int from_device(void)
{
	int dev = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC), fd;

	if (dev < 0)
		return dev;
	fd = ioctl(dev, WT_USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
	close(dev);
	return fd;
}

static int uffd_open(const struct wtrack_probe *p)
{
	int flags = O_CLOEXEC | O_NONBLOCK, fd;

	if (p->door_user && p->door_syscall && p->door_device)
		answer_refused("userfaultfd", p->door_user);
	if (!p->door_user)
		fd = (int)syscall(SYS_userfaultfd,
				  flags | (int)WT_UFFD_USER_MODE_ONLY);
	else if (!p->door_syscall)
		fd = (int)syscall(SYS_userfaultfd, flags);
	else
		fd = from_device();
	if (fd < 0)
		answer_refused("userfaultfd", -errno);
	return fd;
}

static int uffd_with(const struct wtrack_probe *p, uint64_t features,
		     const char *lack)
{
	struct wt_uffdio_api api = { WT_UFFD_API, features, 0 };
	int fd = uffd_open(p);

	if (ioctl(fd, WT_UFFDIO_API, &api))
		answer_refused(errno == EINVAL ? lack : "UFFDIO_API", -errno);
	return fd;
}

int uffd_async(const struct wtrack_probe *p)
{
	return uffd_with(p,
			 WT_FEATURE_PAGEFAULT_WP | WT_FEATURE_WP_UNPOP |
				 WT_FEATURE_WP_ASYNC,
			 "no WP_ASYNC");
}

int uffd_sync(const struct wtrack_probe *p)
{
	return uffd_with(p, WT_FEATURE_PAGEFAULT_WP | WT_FEATURE_SIGBUS,
			 "no write protection by userfaultfd");
}

void uffd_register(int uffd, char *mem, size_t len)
{
	struct wt_uffdio_register reg = { { (uintptr_t)mem, len },
					  WT_REGISTER_MODE_WP,
					  0 };

	if (ioctl(uffd, WT_UFFDIO_REGISTER, &reg))
		answer_refused("UFFDIO_REGISTER", -errno);
}

void uffd_protect(int uffd, char *mem, size_t len, bool arm)
{
	struct wt_uffdio_writeprotect wp = { { (uintptr_t)mem, len },
					     arm ? WT_WRITEPROTECT_MODE_WP
						 : 0 };
	int rc;

	do {
		rc = ioctl(uffd, WT_UFFDIO_WRITEPROTECT, &wp);
	} while (rc && errno == EAGAIN);
	if (rc)
		answer_refused("UFFDIO_WRITEPROTECT", -errno);
}

/* ---- faults ---- */

/* Sanitizers keep books on each store, whose pages fault, too. */
__attribute__((noinline, no_sanitize("address"), no_sanitize("thread"))) void
store_pages(char *mem, size_t n, size_t stride)
{
	for (size_t i = 0; i < n; i++)
		*(volatile char *)(mem + i * stride) = 1;
}

static long faults_so_far(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		answer_refused("getrusage", -errno);
	return usage.ru_minflt;
}

long faults_of_stores(char *mem, size_t n, size_t stride)
{
	long before = faults_so_far();

	store_pages(mem, n, stride);
	return faults_so_far() - before;
}

long least_faults(long (*round)(int uffd), int uffd)
{
	long least = round(uffd);

	for (int i = 1; i < ROUNDS; i++) {
		long n = round(uffd);

		least = n < least ? n : least;
	}
	return least;
}

void answer_faults(long faults, int stores, const struct fault_range *range)
{
	if (faults >= range->yes_from && faults <= range->yes_to)
		answer(true, "%ld faults in %d stores", faults, stores);
	if (faults >= range->no_from && faults <= range->no_to)
		answer(false, "%ld faults in %d stores", faults, stores);
	answer_unknown("%ld faults in %d stores", faults, stores);
}

/* ---- scans ---- */

int pagemap_open(const struct wtrack_probe *p)
{
	int fd;

	if (p->door_pagemap)
		answer_refused("/proc/self/pagemap", p->door_pagemap);
	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		answer_refused("/proc/self/pagemap", -errno);
	return fd;
}

int scan_written(int pagemap, const char *mem, size_t len, bool shortly,
		 struct wt_page_region *found, size_t room)
{
	struct wt_pm_scan_arg arg;
	int n;

	memset(&arg, 0, sizeof(arg));
	arg.size = sizeof(arg);
	arg.flags = WT_PM_CHECK_WPASYNC;
	arg.start = (uintptr_t)mem;
	arg.end = (uintptr_t)mem + len;
	arg.vec = (uintptr_t)found;
	arg.vec_len = room;
	arg.category_mask = WT_PAGE_IS_WRITTEN;
	/* All of the memory is that: it is registered. */
	arg.return_mask =
		WT_PAGE_IS_WRITTEN | (shortly ? 0 : WT_PAGE_IS_WPALLOWED);
	n = ioctl(pagemap, WT_PAGEMAP_SCAN, &arg);
	if (n < 0)
		answer_refused("PAGEMAP_SCAN", -errno);
	return n;
}
