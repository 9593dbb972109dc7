/* SPDX-License-Identifier: MIT */
/*
 * facts.c: what this kernel does, for comparison with what wtrack(1) says of
 * it.
 *
 * Prints "NAME true" or "NAME false" for what can be found out here, each in
 * another way than the program has: by the kernel's count of faults for perf,
 * by the protection of single pages in pagemap, by the list of mappings.
 */
#include "uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE    (page / sizeof(uint64_t) * page)
#define PAGES   ((size_t)8)
#define IS_HUGE ((uint64_t)1 << 6)
#define ASYNC   (WT_FEATURE_WP_ASYNC | WT_FEATURE_WP_UNPOP)

static size_t page;
static int pagemap;

static void fact(const char *name, bool is)
{
	printf("%s %s\n", name, is ? "true" : "false");
}

/* Aligned to what one page table covers. */
static char *map(int advice)
{
	char *p = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	p += -(uintptr_t)p & (HUGE - 1);
	madvise(p, HUGE, advice);
	return p;
}

/* The compiler, and a sanitizer, see no store. */
__attribute__((noinline, no_sanitize("address"),
	       no_sanitize("thread"))) static void
put(char *mem, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		*(volatile char *)(mem + i * page) = 1;
}

/* ---- userfaultfd ---- */

static int uffd_of(char *mem, uint64_t features)
{
	struct wt_uffdio_api api = { WT_UFFD_API, features, 0 };
	struct wt_uffdio_register reg = { { (uintptr_t)mem, HUGE },
					  WT_REGISTER_MODE_WP,
					  0 };
	int fd = (int)syscall(SYS_userfaultfd,
			      O_CLOEXEC | WT_UFFD_USER_MODE_ONLY);

	if (fd < 0 || ioctl(fd, WT_UFFDIO_API, &api) ||
	    ioctl(fd, WT_UFFDIO_REGISTER, &reg))
		return -1;
	return fd;
}

static bool protect(int uffd, char *mem, size_t len, uint64_t mode)
{
	struct wt_uffdio_writeprotect wp = { { (uintptr_t)mem, len }, mode };

	return !ioctl(uffd, WT_UFFDIO_WRITEPROTECT, &wp);
}

static bool is_armed(const char *mem, size_t i)
{
	uint64_t entry = 0;

	return pread(pagemap, &entry, sizeof(entry),
		     (off_t)(((uintptr_t)mem / page + i) * sizeof(entry))) ==
		       sizeof(entry) &&
	       (entry & WT_PM_UFFD_WP);
}

static bool is_huge(const char *mem)
{
	struct wt_page_region found[1] = { { 0, 0, 0 } };
	struct wt_pm_scan_arg arg = { .size = sizeof(arg) };

	arg.start = (uintptr_t)mem;
	arg.end = (uintptr_t)mem + HUGE;
	arg.vec = (uintptr_t)found;
	arg.vec_len = 1;
	arg.category_mask = IS_HUGE;
	arg.return_mask = IS_HUGE;
	return ioctl(pagemap, WT_PAGEMAP_SCAN, &arg) == 1 &&
	       found[0].end - found[0].start == HUGE;
}

/* ---- faults, as perf counts them; -1: it does not ---- */

static long faults_of_put(char *mem)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_PAGE_FAULTS,
					.disabled = 1,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	uint64_t n;

	if (fd < 0)
		return -1;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	put(mem, 0, PAGES);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &n, sizeof(n)) != sizeof(n))
		n = (uint64_t)-1;
	close(fd);
	return (long)n;
}

static void mprotect_upgrade(void)
{
	char *mem = map(MADV_NOHUGEPAGE);
	long n;

	put(mem, 0, PAGES);
	if (mprotect(mem, PAGES * page, PROT_READ) ||
	    mprotect(mem, PAGES * page, PROT_READ | PROT_WRITE))
		return;
	n = faults_of_put(mem);
	if (n >= 0)
		fact("mprotect-upgrade", n < (long)PAGES / 2);
}

static void uffd_upgrade(void)
{
	char *mem = map(MADV_NOHUGEPAGE);
	int fd = uffd_of(mem, WT_FEATURE_PAGEFAULT_WP | WT_FEATURE_SIGBUS);
	long n;

	put(mem, 0, PAGES);
	if (fd < 0 || !protect(fd, mem, HUGE, WT_WRITEPROTECT_MODE_WP) ||
	    !protect(fd, mem, HUGE, 0))
		return;
	n = faults_of_put(mem);
	if (n >= 0)
		fact("uffd-upgrade", n < (long)PAGES / 2);
}

/* ---- the protection of pages, and of mappings ---- */

static void fault_around(void)
{
	char *mem = map(MADV_NOHUGEPAGE);
	int fd = uffd_of(mem, ASYNC);
	bool around = false;

	put(mem, 0, PAGES);
	if (fd < 0 ||
	    !protect(fd, mem, PAGES * page, WT_WRITEPROTECT_MODE_WP) ||
	    !is_armed(mem, PAGES - 1))
		return;
	/* In order, as far as a page is still armed. */
	for (size_t i = 0; i < PAGES; i++) {
		around = around || !is_armed(mem, i);
		put(mem, i, 1);
	}
	fact("fault-around", around);
}

/* Asked for by what it lacks, which the short loops do not understand. */
static void reports_none(void)
{
	struct wt_pm_scan_arg arg = { .size = sizeof(arg) };
	struct wt_page_region found[2] = { { 0, 0, 0 } };
	char *mem = map(MADV_NOHUGEPAGE);
	int fd = uffd_of(mem, ASYNC), n;

	put(mem, 0, PAGES);
	if (fd < 0 ||
	    !protect(fd, mem, PAGES * page, WT_WRITEPROTECT_MODE_WP) ||
	    madvise(mem + 3 * page, page, MADV_DONTNEED) || is_armed(mem, 3))
		return;
	arg.start = (uintptr_t)mem;
	arg.end = (uintptr_t)mem + PAGES * page;
	arg.vec = (uintptr_t)found;
	arg.vec_len = 2;
	arg.category_mask = WT_PAGE_IS_PRESENT | WT_PAGE_IS_WRITTEN;
	arg.category_inverted = WT_PAGE_IS_PRESENT;
	arg.return_mask = WT_PAGE_IS_WRITTEN;
	n = ioctl(pagemap, WT_PAGEMAP_SCAN, &arg);
	if (n >= 0)
		fact("reports-none",
		     n == 1 && found[0].start == (uintptr_t)mem + 3 * page);
}

static void huge_write(void)
{
	char *mem = map(MADV_HUGEPAGE);
	int fd = uffd_of(mem, ASYNC);

	put(mem, 0, 1);
	if (fd < 0 || !protect(fd, mem, HUGE, WT_WRITEPROTECT_MODE_WP) ||
	    !is_huge(mem))
		return;
	put(mem, 0, 1);
	fact("huge-write", is_huge(mem));
}

/* An armed page that is not there: is it once the store is done, un-armed? */
static void one_fault_empty(void)
{
	char *mem = map(MADV_NOHUGEPAGE);
	int fd = uffd_of(mem, ASYNC);
	long n;

	if (fd < 0 || !protect(fd, mem, HUGE, WT_WRITEPROTECT_MODE_WP))
		return;
	n = faults_of_put(mem);
	/* One of two would make it up where neighbours are un-armed, too. */
	if (n == (long)PAGES || n == 2 * (long)PAGES)
		fact("one-fault-empty", n == (long)PAGES);
}

static void seal_by_mapping(void)
{
	char *mem = map(MADV_NOHUGEPAGE), line[256], start[32];
	FILE *f;

	if (syscall(462, mem + page, page, 0) ||
	    !mprotect(mem, 2 * page, PROT_READ) || errno != EPERM)
		return;
	f = fopen("/proc/self/maps", "re");
	snprintf(start, sizeof(start), "%lx-", (unsigned long)mem);
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, start, strlen(start)))
			fact("seal-by-mapping", strstr(line, " r--p ") != NULL);
	if (f)
		fclose(f);
}

int main(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	mprotect_upgrade();
	uffd_upgrade();
	one_fault_empty();
	fault_around();
	huge_write();
	reports_none();
	seal_by_mapping();
	return 0;
}
