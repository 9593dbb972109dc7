/* SPDX-License-Identifier: MIT */
/*
 * peer_raw.c: the least that a program must do to use PAGEMAP_SCAN by itself.
 *
 * It holds the kernel's ABI in its own definitions and shares nothing with the
 * library: it is what the library is compared with.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct raw_scan {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t vec;
	uint64_t vec_len;
	uint64_t max_pages;
	uint64_t category_inverted;
	uint64_t category_mask;
	uint64_t category_anyof_mask;
	uint64_t return_mask;
};

struct raw_region {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

_Static_assert(sizeof(struct raw_scan) == 96, "the kernel's size");
_Static_assert(sizeof(struct raw_region) == 24, "the kernel's size");

#define RAW_PAGEMAP_SCAN        _IOWR('f', 16, struct raw_scan)
#define RAW_SCAN_WP_MATCHING    1u
#define RAW_SCAN_CHECK_WPASYNC  2u
#define RAW_PAGE_IS_WRITTEN     2u
#define RAW_UFFD_WP_UNPOPULATED (1u << 13)
#define RAW_UFFD_WP_ASYNC       (1u << 15)

static int raw_open(struct contender *c)
{
	int rc;

	c->uffd = uffd_open(RAW_UFFD_WP_ASYNC | RAW_UFFD_WP_UNPOPULATED);
	if (c->uffd < 0)
		return c->uffd;
	c->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (c->pagemap >= 0)
		return 0;
	rc = -errno;
	close(c->uffd);
	return rc;
}

static void raw_close(struct contender *c)
{
	close(c->pagemap);
	uffd_close(c);
}

static size_t scan_bytes(int pagemap, unsigned char *addr, size_t len,
			 bool clear)
{
	struct raw_region *regions = (struct raw_region *)(void *)runs_buffer;
	struct raw_scan arg = {
		.size = sizeof(arg),
		.flags = RAW_SCAN_CHECK_WPASYNC |
			 (clear ? RAW_SCAN_WP_MATCHING : 0),
		.start = (uintptr_t)addr,
		.end = (uintptr_t)addr + len,
		.vec = (uintptr_t)regions,
		.vec_len = RUNS_MAX,
		.category_mask = RAW_PAGE_IS_WRITTEN,
		.return_mask = RAW_PAGE_IS_WRITTEN,
	};
	size_t bytes = 0;
	int n;

	do {
		n = ioctl(pagemap, RAW_PAGEMAP_SCAN, &arg);
		if (n < 0)
			bench_die("raw: PAGEMAP_SCAN: %s", strerror(errno));
		for (int i = 0; i < n; i++)
			bytes += regions[i].end - regions[i].start;
		/* walk_end is no place to go on from: where the end was
		 * reached after the kernel's buffer had been full, it is the
		 * start of the last buffer. */
		if (n > 0)
			arg.start = regions[n - 1].end;
	} while ((size_t)n == RUNS_MAX);
	return bytes;
}

static size_t raw_collect(struct contender *c, const struct span *span,
			  bool clear)
{
	size_t bytes = 0;

	if (span_is_whole(span))
		return scan_bytes(c->pagemap, span->base, span->len, clear) /
		       c->bench->page;
	for (size_t off = 0; off < span->len; off += span->stride)
		bytes += scan_bytes(c->pagemap, span->base + off, span->piece,
				    clear);
	return bytes / c->bench->page;
}

const struct contender_ops contender_raw = {
	.name = "raw",
	.open = raw_open,
	.close = raw_close,
	.attach = uffd_attach,
	.detach = uffd_detach,
	.collect = raw_collect,
};
