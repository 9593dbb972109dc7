/* SPDX-License-Identifier: MIT */
/* memory.c: memory of each kind, registered for tracking. */
#include "ktest.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

const char *const kind_names[KINDS] = { "anonymous", "THP", "shmem",
					"private file" };

char *reserve(size_t size)
{
	char *p = mmap(NULL, size + HUGE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	check(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return (char *)(((uintptr_t)p + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
}

static int file_of(enum kind kind, size_t size)
{
	int fd = memfd_create("ktest", 0);

	check(fd >= 0 && ftruncate(fd, (off_t)size) == 0, "memfd: %s",
	      strerror(errno));
	for (size_t i = 0; kind == KIND_FILE && i < size / PAGE; i++) {
		uint64_t value = i;

		check(pwrite(fd, &value, sizeof(value), (off_t)(i * PAGE)) ==
			      sizeof(value),
		      "pwrite: %s", strerror(errno));
	}
	return fd;
}

void map_at(enum kind kind, char *start, size_t size)
{
	int fd = -1, flags = MAP_FIXED;
	char *p;

	if (kind == KIND_SHMEM || kind == KIND_FILE)
		fd = file_of(kind, size);
	flags |= kind == KIND_SHMEM ? MAP_SHARED : MAP_PRIVATE;
	flags |= fd < 0 ? MAP_ANONYMOUS : 0;
	p = mmap(start, size, PROT_READ | PROT_WRITE, flags, fd, 0);
	check(p == start, "mmap %s: %s", kind_names[kind], strerror(errno));
	if (fd >= 0)
		close(fd);
	else if (madvise(start, size,
			 kind == KIND_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
		skip("madvise huge pages: %s", strerror(errno));
	check(uffd_register(uffd, start, size) == 0, "register %s: %s",
	      kind_names[kind], strerror(errno));
}

char *map(enum kind kind, size_t size)
{
	char *start = reserve(size);

	map_at(kind, start, size);
	return start;
}

char *map_hugetlb(size_t pages)
{
	size_t size = pages * HUGE;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (p == MAP_FAILED)
		skip("no %zu huge pages: %s", pages, strerror(errno));
	check(uffd_register(uffd, p, size) == 0, "register hugetlb: %s",
	      strerror(errno));
	return p;
}

void arm(char *start, size_t size, bool on)
{
	check(uffd_arm(uffd, start, size, on) == 0,
	      "UFFDIO_WRITEPROTECT %d: %s", on, strerror(errno));
}

size_t thp_bytes(void)
{
	long kib = counter("/proc/self/smaps_rollup", "AnonHugePages");

	return kib < 0 ? 0 : (size_t)kib << 10;
}

void populate_thp(char *start, size_t size)
{
	size_t before = thp_bytes();

	for (size_t i = 0; i < size; i += HUGE)
		store(start + i, 1);
	if (thp_bytes() - before != size)
		skip("no transparent huge pages here");
}

void need_swap(void)
{
	if (counter("/proc/meminfo", "SwapTotal") <= 0)
		skip("no swap");
}

size_t swap_out(char *start, size_t size)
{
	size_t there = 0;

	/* Pages that have just been written may be busy at first. */
	for (int round = 0; round < 20 && there < size / PAGE; round++) {
		if (madvise(start, size, ADVICE_PAGEOUT) != 0)
			skip("MADV_PAGEOUT: %s", strerror(errno));
		there = 0;
		for (size_t i = 0; i < size; i += PAGE)
			if (pagemap_entry(pagemap, start + i) & ENTRY_SWAPPED)
				there++;
		if (there < size / PAGE)
			usleep(1000);
	}
	return there;
}

static sigjmp_buf refused;

static void on_segv(int signal)
{
	siglongjmp(refused, signal);
}

bool can_store(char *page, uint64_t value)
{
	signal(SIGSEGV, on_segv);
	if (sigsetjmp(refused, 1) != 0)
		return false;
	store(page, value);
	return true;
}

long faults(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return use.ru_minflt;
}
