/* SPDX-License-Identifier: MIT */
/* softdirty.c: reads soft-dirty bits, keeps them, and clears the kernel's. */
#include "softdirty.h"
#include "dirtymap.h"
#include "pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/single_threaded.h>

static struct wt_fd pagemap = WT_FD_NONE;
static struct wt_fd clear_refs = WT_FD_NONE;
/* The directory of this process's threads. */
static struct wt_fd task = WT_FD_NONE;

/* Entries read at once where something else is on the stack already. */
#define FOUND_ENTRIES 32

/* A clearing is under way: a second one at once would fold what is gone. */
static bool clearing;

static int keep_open(struct wt_fd *kept, const char *path, int flags)
{
	int fd = wt_sys_open(path, flags);

	if (fd >= 0)
		wt_fd_keep(kept, fd);
	return fd < 0 ? fd : 0;
}

int wt_soft_open(void)
{
	int rc = wt_pagemap_open(&pagemap);

	if (!rc)
		rc = keep_open(&clear_refs, "/proc/self/clear_refs", O_WRONLY);
	if (!rc)
		rc = keep_open(&task, "/proc/self/task", O_RDONLY);
	if (rc)
		wt_soft_close();
	return rc;
}

void wt_soft_close(void)
{
	wt_fd_close(&pagemap);
	wt_fd_close(&clear_refs);
	wt_fd_close(&task);
}

void wt_soft_reset(void)
{
	__atomic_store_n(&clearing, false, __ATOMIC_RELEASE);
}

int wt_soft_check(void)
{
	return wt_fd_is_ours(&pagemap) && wt_vma_readable() ? 0 : -EBADF;
}

static long read_up_to(struct wtrack *t, uintptr_t at, uintptr_t end,
		       uint64_t *entry, size_t n)
{
	size_t left = (end - at) >> wt_page_shift();

	wt_count(&t->count.kernel_calls, 1);
	return wt_pagemap_read(&pagemap, at, entry, left < n ? left : n);
}

long wt_soft_read(struct wtrack *t, uintptr_t at, uintptr_t end,
		  uint64_t entry[WT_SOFT_ENTRIES])
{
	return read_up_to(t, at, end, entry, WT_SOFT_ENTRIES);
}

/* The first page of [at, end) whose bit is `set`; `end`, or a negative errno.
 */
static long find(struct wtrack *t, uintptr_t at, uintptr_t end, bool set)
{
	uint64_t entry[FOUND_ENTRIES];

	while (at < end) {
		long n = read_up_to(t, at, end, entry, FOUND_ENTRIES);

		if (n < 0)
			return n;
		for (long i = 0; i < n; i++, at += wt_page_size())
			if (!(entry[i] & WT_ENTRY_SOFT_DIRTY) == !set)
				return (long)at;
	}
	return (long)end;
}

int wt_soft_any(struct wtrack *t, uintptr_t start, uintptr_t end)
{
	long at = find(t, start, end, true);

	return at < 0 ? (int)at : at != (long)end;
}

void wt_soft_keep(uintptr_t start, uintptr_t end)
{
	wt_dirty_set_degraded(start, end);
	wt_dirty_set(start, end);
}

/* ---- bits that say more than was stored to ---- */

void wt_soft_doubt_begin(struct wt_soft_doubt *d, uintptr_t start)
{
	wt_vma_walk_init(&d->walk, start, false);
	d->mapping.end = 0;
	d->known_to = 0;
	d->flags = 0;
}

void wt_soft_doubt_end(struct wt_soft_doubt *d)
{
	wt_vma_walk_end(&d->walk);
}

static bool find_mapping(struct wtrack *t, struct wt_soft_doubt *d,
			 uintptr_t addr)
{
	while (d->mapping.end <= addr) {
		wt_count(&t->count.kernel_calls, 1);
		if (wt_vma_walk_next(&d->walk, &d->mapping) <= 0)
			return false;
		d->asked = false;
	}
	return d->mapping.start <= addr;
}

static bool all_dirty(struct wtrack *t, uintptr_t start, uintptr_t end)
{
	return find(t, start, end, false) == (long)end;
}

/* The flags of all that its mapping has of the block of `addr`. */
static uint64_t flags_of_block(struct wtrack *t, struct wt_soft_doubt *d,
			       uintptr_t addr)
{
	uintptr_t start = addr & ~(uintptr_t)(wt_huge_size() - 1);
	uintptr_t end = start + wt_huge_size();

	start = start < d->mapping.start ? d->mapping.start : start;
	d->known_to = end = end > d->mapping.end ? d->mapping.end : end;
	if (!all_dirty(t, start, end))
		return 0;
	if (!d->asked)
		d->all = all_dirty(t, d->mapping.start, d->mapping.end);
	d->asked = true;
	return (d->all ? WTRACK_RUN_DEGRADED : 0) |
	       (end - start == wt_huge_size() ? WTRACK_RUN_COARSE : 0);
}

uint64_t wt_soft_doubt_at(struct wtrack *t, struct wt_soft_doubt *d,
			  uintptr_t addr)
{
	if (addr < d->known_to)
		return d->flags;
	if (!find_mapping(t, d, addr))
		return WTRACK_RUN_DEGRADED;
	d->flags = flags_of_block(t, d, addr);
	return d->flags;
}

/* ---- folding and clearing ---- */

/* Folds the pages of [start, end) whose bits are set; all, if not `sure`. */
static int fold(struct wtrack *t, uintptr_t start, uintptr_t end, bool sure,
		uint64_t entry[WT_SOFT_ENTRIES])
{
	struct wt_soft_doubt d;
	long n = 0;

	wt_soft_doubt_begin(&d, start);
	while (start < end && (n = wt_soft_read(t, start, end, entry)) > 0) {
		for (long i = 0; i < n; i++, start += wt_page_size()) {
			uintptr_t next = start + wt_page_size();

			if (!(entry[i] & WT_ENTRY_SOFT_DIRTY))
				continue;
			if (!sure || wt_soft_doubt_at(t, &d, start))
				wt_soft_keep(start, next);
			else
				wt_dirty_set(start, next);
		}
	}
	wt_soft_doubt_end(&d);
	return n < 0 ? (int)n : 0;
}

int wt_soft_keep_set(struct wtrack *t, uintptr_t start, uintptr_t end)
{
	uint64_t entry[WT_SOFT_ENTRIES];

	return fold(t, start, end, false, entry);
}

static int fold_ranges(struct wtrack *t, uint64_t *entry)
{
	struct wt_range r[WT_LEAF_RANGES];
	uintptr_t at = 0;
	size_t n;
	int rc = 0;

	while (!rc && (n = wt_table_peek(&t->table, at, r))) {
		for (size_t i = 0; !rc && i < n; i++)
			rc = fold(t, r[i].start, r[i].end, true, entry);
		at = r[n - 1].end;
	}
	return rc;
}

/* The number may mean another's file by now: it would get our text. */
static int clear_all(void)
{
	ssize_t n;

	if (!wt_fd_is_ours(&clear_refs))
		return -EBADF;
	n = wt_sys_write(clear_refs.fd, "4", 1);
	return n < 0 ? (int)n : 0;
}

static int fold_and_clear(struct wtrack *t, uint64_t *entry)
{
	struct wtrack *other;
	int rc = 0;

	for (other = wt_first_handle(); other && !rc;
	     other = wt_next_handle(other))
		if (wt_be(other) == &wt_backend_softdirty)
			rc = fold_ranges(other, entry);
	wt_count(&t->count.kernel_calls, 1);
	return rc ? rc : clear_all();
}

/*
 * [K-task-links] The directory has a link for each thread.  libc's flag never
 * comes back where a thread once was.
 */
static bool is_alone(void)
{
	return __libc_single_threaded || wt_fd_links(&task) == 3;
}

int wt_soft_clear(struct wtrack *t, bool stopped,
		  uint64_t entry[WT_SOFT_ENTRIES])
{
	sigset_t saved;
	int rc = -EAGAIN;

	/* Nor does a handler write, or start a thread, from here on. */
	wt_signals_block(&saved);
	if ((stopped || is_alone()) &&
	    !__atomic_exchange_n(&clearing, true, __ATOMIC_ACQUIRE)) {
		rc = fold_and_clear(t, entry);
		__atomic_store_n(&clearing, false, __ATOMIC_RELEASE);
	}
	wt_signals_restore(&saved);
	return rc;
}
