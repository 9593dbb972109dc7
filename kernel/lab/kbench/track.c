/* SPDX-License-Identifier: MIT */
/*
 * track.c: memory whose written pages the kernel tracks by itself: userfaultfd
 * with WP_ASYNC, and PAGEMAP_SCAN.
 */
#include "kbench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void register_memory(const struct trial *t)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)t->base, t->bytes },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	if (ioctl(t->uffd, UFFDIO_REGISTER, &reg) != 0)
		die("UFFDIO_REGISTER: %s", strerror(errno));
}

/* As many as a scan can report, and populated: what a scan stores there must
 * not fault. */
static void make_regions(struct trial *t)
{
	size_t bytes;

	t->nregions = t->bytes / PAGE / 2 + 1;
	bytes = t->nregions * sizeof(*t->regions);
	t->regions = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->regions == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	memset(t->regions, 0xff, bytes);
}

static const char *open_tracking(struct trial *t, uint64_t features,
				 const char *lacks)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };

	t->uffd = (int)syscall(SYS_userfaultfd,
			       O_CLOEXEC | O_NONBLOCK | WT_UFFD_USER_MODE_ONLY);
	if (t->uffd < 0)
		return "no userfaultfd";
	if (ioctl(t->uffd, UFFDIO_API, &api) != 0)
		return lacks;
	t->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (t->pagemap < 0)
		return "no /proc/self/pagemap";
	make_regions(t);
	register_memory(t);
	return NULL;
}

/* Tracks the trial's memory, without a way to ask what was written.  Returns
 * why this kernel cannot, or NULL. */
const char *track_async(struct trial *t)
{
	return open_tracking(t, WT_FEATURE_PAGEFAULT_WP | WT_FEATURE_WP_ASYNC,
			     "no UFFD_FEATURE_WP_ASYNC");
}

/* And with PAGEMAP_SCAN to ask. */
const char *track(struct trial *t)
{
	struct wt_pm_scan_arg nothing = { .size = sizeof(nothing) };
	const char *why =
		open_tracking(t,
			      WT_FEATURE_PAGEFAULT_WP | WT_FEATURE_WP_UNPOP |
				      WT_FEATURE_WP_ASYNC,
			      "no UFFD_FEATURE_WP_ASYNC");

	if (!why && ioctl(t->pagemap, WT_PAGEMAP_SCAN, &nothing) != 0 &&
	    errno == ENOTTY)
		why = "no PAGEMAP_SCAN";
	return why;
}

/* Where each write fault is a SIGBUS, for whoever handles it. */
const char *track_sync(struct trial *t)
{
	return open_tracking(t, WT_FEATURE_PAGEFAULT_WP | WT_FEATURE_SIGBUS,
			     "no UFFD_FEATURE_PAGEFAULT_FLAG_WP");
}

/* After memory was mapped anew. */
void track_again(struct trial *t)
{
	register_memory(t);
}

void untrack(struct trial *t)
{
	if (t->uffd >= 0)
		close(t->uffd);
	if (t->pagemap >= 0)
		close(t->pagemap);
	if (t->regions)
		munmap(t->regions, t->nregions * sizeof(*t->regions));
	t->uffd = t->pagemap = -1;
	t->regions = NULL;
	unmap_pages(t);
}

void arm(const struct trial *t, bool on)
{
	arm_part(t, t->base, t->bytes, on);
}

void arm_part(const struct trial *t, const unsigned char *addr, size_t len,
	      bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)addr, len },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	if (ioctl(t->uffd, UFFDIO_WRITEPROTECT, &wp) != 0)
		die("UFFDIO_WRITEPROTECT: %s", strerror(errno));
}

static size_t call_scan(const struct trial *t, struct wt_pm_scan_arg *arg)
{
	int n;

	arg->size = sizeof(*arg);
	arg->flags |= WT_PM_CHECK_WPASYNC;
	arg->start = (uintptr_t)t->base;
	arg->end = arg->start + t->bytes;
	n = ioctl(t->pagemap, WT_PAGEMAP_SCAN, arg);
	if (n < 0)
		die("PAGEMAP_SCAN: %s", strerror(errno));
	return (size_t)n;
}

/* How many pages are written, in regions; the categories are those that are
 * asked for besides. */
size_t scan(const struct trial *t, uint64_t flags, uint64_t categories)
{
	struct wt_pm_scan_arg arg = {
		.flags = flags,
		.vec = (uintptr_t)t->regions,
		.vec_len = t->nregions,
		.category_mask = WT_PAGE_IS_WRITTEN,
		.return_mask = WT_PAGE_IS_WRITTEN | categories,
	};

	return call_scan(t, &arg);
}

size_t scan_get(const struct trial *t)
{
	return scan(t, 0, 0);
}

size_t scan_get_arm(const struct trial *t)
{
	return scan(t, WT_PM_WP_MATCHING, 0);
}

/* Reports nothing. */
void scan_arm(const struct trial *t)
{
	struct wt_pm_scan_arg arg = {
		.flags = WT_PM_WP_MATCHING,
		.category_mask = WT_PAGE_IS_WRITTEN,
		.return_mask = WT_PAGE_IS_WRITTEN,
	};

	if (call_scan(t, &arg) != 0)
		die("a scan without room for answers gave some");
}

size_t pages_in(const struct trial *t, size_t nregions)
{
	size_t pages = 0;

	for (size_t i = 0; i < nregions; i++)
		pages += (t->regions[i].end - t->regions[i].start) / PAGE;
	return pages;
}

/* Dies if another number of pages is written. */
void expect_written(const struct trial *t, size_t pages)
{
	size_t found = pages_in(t, scan_get(t));

	if (found != pages)
		die("%zu pages read as written, not %zu", found, pages);
}
