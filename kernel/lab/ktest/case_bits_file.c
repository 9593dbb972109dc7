/* SPDX-License-Identifier: MIT */
/*
 * case_bits_file.c: files in the page cache, shared and private, may be tracked
 * asynchronously as well.
 */
#include "bits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES ((size_t)64)

/* Of a file system without anything that shmem has of its own. */
static char *map_file(int flags, int *fd)
{
	static const char dir[] = "/tmp/ktest.ramfs";
	uint64_t value = 9;
	char *p;

	mkdir(dir, 0700);
	if (mount("ramfs", dir, "ramfs", 0, NULL) != 0)
		skip("cannot mount: %s", strerror(errno));
	*fd = open("/tmp/ktest.ramfs/file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	umount2(dir, MNT_DETACH);
	check(*fd >= 0 && ftruncate(*fd, PAGES * PAGE) == 0 &&
		      pwrite(*fd, &value, sizeof(value), 7 * PAGE) == 8,
	      "file: %s", strerror(errno));
	p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, *fd, 0);
	check(p != MAP_FAILED, "mmap: %s", strerror(errno));
	check(uffd_register(uffd, p, PAGES * PAGE) == 0, "register: %s",
	      strerror(errno));
	return p;
}

static uint64_t in_file(int fd, size_t page)
{
	uint64_t value = 0;

	check(pread(fd, &value, sizeof(value), (off_t)(page * PAGE)) == 8,
	      "pread: %s", strerror(errno));
	return value;
}

static void shared_file(void)
{
	int fd;
	char *start = map_file(MAP_SHARED, &fd);

	check(load(start + 7 * PAGE) == 9, "other contents");
	follow("shared file", start, PAGES);
	check(in_file(fd, 9) == 109 && in_file(fd, 11) == 211,
	      "the file is not written to");
}

static void private_file(void)
{
	int fd;
	char *start = map_file(MAP_PRIVATE, &fd);

	follow("private file", start, PAGES);
	check(in_file(fd, 7) == 9 && in_file(fd, 9) == 0,
	      "the file is written to");
}

/* Whether the pages that a file loses are still armed is not said anywhere. */
static void truncated(void)
{
	int fd;
	char *start = map_file(MAP_SHARED, &fd);

	store(start, 1);
	arm(start, PAGES * PAGE, true);
	check(ftruncate(fd, PAGE) == 0 && ftruncate(fd, PAGES * PAGE) == 0,
	      "ftruncate: %s", strerror(errno));
	check(is_armed(start), "what is left is not armed");
	check(load(start + 7 * PAGE) == 0, "the page is there again");
	store(start + 7 * PAGE, 3);
	check(!is_armed(start + 7 * PAGE), "armed after a store");
	check(in_file(fd, 7) == 3, "the file is not written to");
}

const struct test bits_file_tests[] = {
	{ "bits_shared_file", shared_file },
	{ "bits_private_file", private_file },
	{ "bits_truncated", truncated },
	{ 0 },
};
