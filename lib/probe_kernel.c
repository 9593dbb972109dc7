/* SPDX-License-Identifier: MIT */
/*
 * probe_kernel.c: what the kernel does, each behaviour on a stage of its own.
 *
 * No store is made that could wait for somebody: to an armed page only where
 * the kernel resolves it by itself, else by read(2), which then fails.
 */
#include "probe.h"
#include "sys.h"
#include "uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* The calls were accepted, and the kernel does not do what they ask for. */
#define NOT_SO (-EOPNOTSUPP)

/* By its size, so that what is asked for is known: log2, from bit 26 on. */
#define MAP_HUGE_2MIB (MAP_PRIVATE | MAP_HUGETLB | 21 << 26)

static char *page_at(const struct wt_stage *s, size_t i)
{
	return s->mem + i * s->page;
}

static void touch(const struct wt_stage *s, size_t i)
{
	*(volatile char *)page_at(s, i) = 1;
}

static int protect(const struct wt_stage *s, size_t i, size_t n, bool arm)
{
	struct wt_uffdio_writeprotect wp = {
		{ (uintptr_t)page_at(s, i), n * s->page },
		arm ? WT_WRITEPROTECT_MODE_WP : 0
	};
	int rc;

	do {
		rc = wt_sys_ioctl(s->uffd, WT_UFFDIO_WRITEPROTECT, &wp);
	} while (rc == -EAGAIN);
	return rc;
}

/* Stores into the page as read(2) does: 0 or a negative errno. */
static int store_by_kernel(const struct wt_stage *s, size_t i)
{
	int fds[2], rc = wt_sys_pipe(fds);
	ssize_t n;

	if (rc)
		return rc;
	n = wt_sys_write(fds[1], "x", 1);
	if (n == 1)
		n = wt_sys_read(fds[0], page_at(s, i), 1);
	wt_sys_close(fds[0]);
	wt_sys_close(fds[1]);
	return n == 1 ? 0 : n < 0 ? (int)n : -EIO;
}

/* Whether such a store fails, as it does where nobody resolves the fault. */
static int store_is_refused(const struct wt_stage *s, size_t i)
{
	int rc = store_by_kernel(s, i);

	return rc == -EFAULT ? 0 : rc ? rc : NOT_SO;
}

/* ---- userfaultfd ---- */

static int play_wp(const struct wt_stage *s)
{
	touch(s, 0);
	return protect(s, 0, 1, true);
}

static int play_unpopulated(const struct wt_stage *s)
{
	int rc = protect(s, 0, 1, true);

	return rc ? rc : store_is_refused(s, 0);
}

static int play_sigbus(const struct wt_stage *s)
{
	int rc = play_wp(s);

	if (!rc)
		rc = store_is_refused(s, 0);
	if (!rc)
		rc = protect(s, 0, 1, false);
	return rc ? rc : store_by_kernel(s, 0);
}

static int play_async(const struct wt_stage *s)
{
	int rc = play_wp(s);

	if (!rc)
		touch(s, 0);
	return rc;
}

/* Nothing is in it, so that no huge page has to be had. */
static int play_hugetlb(const struct wt_stage *s)
{
	return protect(s, 0, s->block / s->page, true);
}

/* ---- pagemap ---- */

static int entry_has(const struct wt_stage *s, size_t i, uint64_t bit)
{
	uint64_t entry = 0;
	off_t at = (off_t)((uintptr_t)page_at(s, i) / s->page * sizeof(entry));
	ssize_t n = wt_sys_pread(s->pagemap, &entry, sizeof(entry), at);

	if (n < 0)
		return (int)n;
	return n == sizeof(entry) && (entry & bit) ? 0 : NOT_SO;
}

static int play_uffd_wp_bit(const struct wt_stage *s)
{
	int rc = play_wp(s);

	return rc ? rc : entry_has(s, 0, WT_PM_UFFD_WP);
}

static int play_soft_dirty(const struct wt_stage *s)
{
	touch(s, 0);
	return entry_has(s, 0, WT_PM_SOFT_DIRTY);
}

/* Whether a look at pages [from, to) tells of exactly [first, last). */
static int scan_tells(const struct wt_stage *s, uint64_t category,
		      uint64_t flags, size_t from, size_t to, size_t first,
		      size_t last)
{
	struct wt_page_region found[2];
	struct wt_pm_scan_arg arg;
	int rc;

	memset(&arg, 0, sizeof(arg));
	memset(found, 0, sizeof(found));
	arg.size = sizeof(arg);
	arg.flags = flags;
	arg.start = (uintptr_t)page_at(s, from);
	arg.end = (uintptr_t)page_at(s, to);
	arg.vec = (uintptr_t)found;
	arg.vec_len = 2;
	arg.category_mask = category;
	arg.return_mask = category;
	rc = wt_sys_ioctl(s->pagemap, WT_PAGEMAP_SCAN, &arg);
	if (rc < 0)
		return rc;
	return rc == 1 && found[0].start == (uintptr_t)page_at(s, first) &&
			       found[0].end == (uintptr_t)page_at(s, last)
		       ? 0
		       : NOT_SO;
}

static int play_scan(const struct wt_stage *s)
{
	touch(s, 1);
	return scan_tells(s, WT_PAGE_IS_PRESENT, 0, 0, 4, 1, 2);
}

/* [K-none-pte] */
static int play_discarded_page(const struct wt_stage *s)
{
	int rc;

	for (size_t i = 0; i < 4; i++)
		touch(s, i);
	rc = protect(s, 0, 4, true);
	if (!rc)
		rc = wt_sys_madvise((uintptr_t)page_at(s, 1), s->page,
				    MADV_DONTNEED);
	return rc ? rc
		  : scan_tells(s, WT_PAGE_IS_WRITTEN, WT_PM_CHECK_WPASYNC, 0, 4,
			       1, 2);
}

/* [K-pmd-hole] */
static int play_discarded_block(const struct wt_stage *s)
{
	size_t pages = s->block / s->page;

	return scan_tells(s, WT_PAGE_IS_WRITTEN, WT_PM_CHECK_WPASYNC, 0, pages,
			  0, pages);
}

/* ---- neither ---- */

static int play_procmap_query(const struct wt_stage *s)
{
	int fd = wt_sys_open("/proc/self/maps", O_RDONLY), rc;
	struct wt_procmap_query q;

	if (fd < 0)
		return fd;
	memset(&q, 0, sizeof(q));
	q.size = sizeof(q);
	q.query_addr = (uintptr_t)s->mem;
	rc = wt_sys_ioctl(fd, WT_PROCMAP_QUERY, &q);
	wt_sys_close(fd);
	if (rc)
		return rc;
	return q.vma_start <= q.query_addr && q.query_addr < q.vma_end ? 0
								       : NOT_SO;
}

static int play_mprotect(const struct wt_stage *s)
{
	int rc;

	touch(s, 0);
	rc = wt_sys_mprotect((uintptr_t)s->mem, s->page, PROT_READ);
	if (!rc)
		rc = store_is_refused(s, 0);
	if (!rc)
		rc = wt_sys_mprotect((uintptr_t)s->mem, s->page,
				     PROT_READ | PROT_WRITE);
	return rc ? rc : store_by_kernel(s, 0);
}

/* ---- all of them ---- */

const struct wt_play wt_plays[] = {
#define RESULT(member) offsetof(struct wtrack_probe, member)
	{ RESULT(uffd_wp), play_wp, WT_NEEDS_UFFD, 0, 0 },
	{ RESULT(uffd_wp_unpopulated), play_unpopulated, WT_NEEDS_UFFD,
	  WT_FEATURE_WP_UNPOP | WT_FEATURE_SIGBUS, 0 },
	{ RESULT(uffd_wp_async), play_async, WT_NEEDS_UFFD, WT_FEATURE_WP_ASYNC,
	  0 },
	{ RESULT(uffd_wp_shmem), play_wp, WT_NEEDS_UFFD, WT_FEATURE_WP_HUGE_SHM,
	  MAP_SHARED },
	{ RESULT(uffd_wp_hugetlb), play_hugetlb, WT_NEEDS_UFFD,
	  WT_FEATURE_WP_HUGE_SHM, MAP_HUGE_2MIB },
	{ RESULT(uffd_sigbus), play_sigbus, WT_NEEDS_UFFD, WT_FEATURE_SIGBUS,
	  0 },
	{ RESULT(pagemap_scan), play_scan, WT_NEEDS_PAGEMAP, 0, 0 },
	{ RESULT(pagemap_uffd_wp), play_uffd_wp_bit,
	  WT_NEEDS_UFFD | WT_NEEDS_PAGEMAP, 0, 0 },
	{ RESULT(discarded_page), play_discarded_page,
	  WT_NEEDS_UFFD | WT_NEEDS_PAGEMAP, WT_FEATURE_WP_ASYNC, 0 },
	{ RESULT(discarded_block), play_discarded_block,
	  WT_NEEDS_UFFD | WT_NEEDS_PAGEMAP, WT_FEATURE_WP_ASYNC, 0 },
	{ RESULT(procmap_query), play_procmap_query, 0, 0, 0 },
	{ RESULT(soft_dirty_set), play_soft_dirty, WT_NEEDS_PAGEMAP, 0, 0 },
	{ RESULT(mprotect), play_mprotect, 0, 0, 0 },
};

const size_t wt_n_plays = sizeof(wt_plays) / sizeof(wt_plays[0]);
