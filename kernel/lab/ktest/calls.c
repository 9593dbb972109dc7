/* SPDX-License-Identifier: MIT */
/* calls.c: the kernel's interfaces, each as one call. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int uffd_open(uint64_t features)
{
	struct wt_uffdio_api api = { .api = WT_UFFD_API, .features = features };
	int fd = (int)syscall(SYS_userfaultfd,
			      O_CLOEXEC | O_NONBLOCK | WT_UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -1;
	if (ioctl(fd, WT_UFFDIO_API, &api) != 0) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

int uffd_register(int uffd, void *start, size_t size)
{
	struct wt_uffdio_register arg = {
		.range = { .start = (uintptr_t)start, .len = size },
		.mode = WT_REGISTER_MODE_WP,
	};

	return ioctl(uffd, WT_UFFDIO_REGISTER, &arg);
}

int uffd_arm(int uffd, void *start, size_t size, bool on)
{
	struct wt_uffdio_writeprotect arg = {
		.range = { .start = (uintptr_t)start, .len = size },
		.mode = on ? WT_WRITEPROTECT_MODE_WP : 0,
	};
	int rc = ioctl(uffd, WT_UFFDIO_WRITEPROTECT, &arg);
	size_t half = size / PAGE / 2 * PAGE;

	if (rc == 0 || errno != ENOENT || half == 0)
		return rc;
	/* Older kernels take what lies within one mapping only. */
	rc = uffd_arm(uffd, start, half, on);
	return rc ? rc : uffd_arm(uffd, (char *)start + half, size - half, on);
}

int pagemap_open(void)
{
	return open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

struct wt_pm_scan_arg scan_of(void *start, size_t size,
			      struct wt_page_region *regions, size_t room,
			      uint64_t flags)
{
	return (struct wt_pm_scan_arg){
		.size = sizeof(struct wt_pm_scan_arg),
		.flags = flags,
		.start = (uintptr_t)start,
		.end = (uintptr_t)start + size,
		.vec = (uintptr_t)regions,
		.vec_len = room,
		.category_mask = WT_PAGE_IS_WRITTEN,
		.return_mask = WT_PAGE_IS_WRITTEN,
	};
}

long pagemap_scan(int pagemap, struct wt_pm_scan_arg *arg)
{
	return ioctl(pagemap, WT_PAGEMAP_SCAN, arg);
}

uint64_t pagemap_entry(int pagemap, const void *page)
{
	uint64_t entry = 0;
	off_t at = (off_t)((uintptr_t)page / PAGE * sizeof(entry));

	if (pread(pagemap, &entry, sizeof(entry), at) != sizeof(entry))
		return 0;
	return entry;
}

long counter(const char *file, const char *name)
{
	FILE *f = fopen(file, "re");
	size_t length = strlen(name);
	char line[256];
	long value = -1;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, length) == 0 &&
		    strchr(" :", line[length])) {
			value = strtol(line + length + 1, NULL, 10);
			break;
		}
	if (f)
		fclose(f);
	return value;
}

static FILE *sysctl_open(const char *name, const char *mode)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/vm/%s", name);
	return fopen(path, mode);
}

long sysctl_get(const char *name)
{
	FILE *f = sysctl_open(name, "re");
	long value = -1;

	if (f && fscanf(f, "%ld", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

int sysctl_set(const char *name, long value)
{
	FILE *f = sysctl_open(name, "we");

	if (!f)
		return -1;
	fprintf(f, "%ld\n", value);
	return fclose(f);
}

uint64_t roll(struct dice *dice, uint64_t sides)
{
	uint64_t x = dice->state ? dice->state : 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	dice->state = x;
	return (x >> 16) % sides;
}
