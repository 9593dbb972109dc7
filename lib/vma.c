/* SPDX-License-Identifier: MIT */
/* vma.c: walks over the mappings of this process. */
#include "vma.h"
#include "sys.h"
#include "uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* One descriptor for the process; it belongs to the mm that opened it. */
static struct wt_fd maps = WT_FD_NONE;
static bool lent; /* to a walk through the text */

int wt_vma_open(void)
{
	int fd;

	wt_vma_close();
	fd = wt_sys_open("/proc/self/maps", O_RDONLY);
	if (fd < 0)
		return fd;
	wt_fd_keep(&maps, fd);
	/* The walks of a parent's threads do not go on in its child. */
	__atomic_store_n(&lent, false, __ATOMIC_RELEASE);
	return 0;
}

void wt_vma_close(void)
{
	wt_fd_close(&maps);
}

bool wt_vma_readable(void)
{
	return wt_fd_is_ours(&maps);
}

void wt_vma_walk_init(struct wt_vma_walk *w, uintptr_t addr, bool writable)
{
	w->at = addr;
	w->writable = writable;
	w->text = false;
	w->offset = 0;
	w->have = 0;
	w->used = 0;
}

static int query(struct wt_vma_walk *w, struct wt_vma *out)
{
	struct wt_procmap_query q;
	int rc;

	memset(&q, 0, sizeof(q));
	q.size = sizeof(q);
	q.query_addr = w->at;
	q.query_flags = WT_PROCMAP_OR_NEXT;
	if (w->writable)
		q.query_flags |= WT_PROCMAP_WRITABLE;
	rc = wt_sys_ioctl(__atomic_load_n(&maps.fd, __ATOMIC_ACQUIRE),
			  WT_PROCMAP_QUERY, &q);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	out->start = q.vma_start;
	out->end = q.vma_end;
	out->prot = (q.vma_flags & WT_PROCMAP_READABLE ? PROT_READ : 0) |
		    (q.vma_flags & WT_PROCMAP_WRITABLE ? PROT_WRITE : 0) |
		    (q.vma_flags & WT_PROCMAP_EXECUTABLE ? PROT_EXEC : 0);
	out->file = q.inode || (q.vma_flags & WT_PROCMAP_SHARED);
	out->page_size = q.vma_page_size;
	w->at = out->end;
	return 1;
}

/*
 * [K-maps-position] A read that goes on where the last one of the same open
 * file ended goes on behind the last mapping; any other counts bytes from the
 * start, in a text that may have changed.  So a walk has the file for itself.
 */
static int begin_text(struct wt_vma_walk *w)
{
	/* No such call, or forbidden by a filter; or another's file. */
	if (!wt_fd_is_ours(&maps))
		return -EBADF;
	w->lent = !__atomic_exchange_n(&lent, true, __ATOMIC_ACQUIRE);
	w->fd = w->lent ? __atomic_load_n(&maps.fd, __ATOMIC_ACQUIRE)
			: wt_sys_open("/proc/self/maps", O_RDONLY);
	w->text = w->fd >= 0;
	return w->text ? 0 : w->fd;
}

void wt_vma_walk_end(struct wt_vma_walk *w)
{
	if (w->text && w->lent)
		__atomic_store_n(&lent, false, __ATOMIC_RELEASE);
	else if (w->text)
		wt_sys_close(w->fd);
	w->text = false;
}

/* 1 and the next byte of the text, 0 at its end, or a negative errno. */
static int next_byte(struct wt_vma_walk *w, char *c)
{
	if (w->used == w->have) {
		ssize_t n =
			wt_sys_pread(w->fd, w->buf, sizeof(w->buf), w->offset);

		if (n <= 0)
			return (int)n;
		w->offset += n;
		w->have = (size_t)n;
		w->used = 0;
	}
	*c = w->buf[w->used++];
	return 1;
}

static int next_hex(struct wt_vma_walk *w, uintptr_t *out)
{
	char c = 0;
	int rc;

	*out = 0;
	while ((rc = next_byte(w, &c)) > 0) {
		if (c >= '0' && c <= '9')
			*out = *out * 16 + (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*out = *out * 16 + (uintptr_t)(c - 'a' + 10);
		else
			break;
	}
	return rc;
}

/* One line: "start-end rwxp offset major:minor inode name". */
static int parse_line(struct wt_vma_walk *w, struct wt_vma *out)
{
	char perm[4] = { 0 }, c = 0;
	uintptr_t ignored, inode = 0;
	int rc = next_hex(w, &out->start);

	if (rc > 0)
		rc = next_hex(w, &out->end);
	for (int i = 0; rc > 0 && i < 4; i++)
		rc = next_byte(w, &perm[i]);
	if (rc > 0)
		rc = next_byte(w, &c);
	for (int i = 0; rc > 0 && i < 3; i++)
		rc = next_hex(w, &ignored);
	if (rc > 0)
		rc = next_hex(w, &inode);
	while (rc > 0 && c != '\n')
		rc = next_byte(w, &c);
	out->prot = (perm[0] == 'r' ? PROT_READ : 0) |
		    (perm[1] == 'w' ? PROT_WRITE : 0) |
		    (perm[2] == 'x' ? PROT_EXEC : 0);
	out->file = inode || perm[3] == 's';
	out->page_size = 0;
	return rc;
}

int wt_vma_walk_next(struct wt_vma_walk *w, struct wt_vma *out)
{
	int rc;

	if (!w->text) {
		rc = query(w, out);
		if (rc >= 0)
			return rc;
		rc = begin_text(w);
		if (rc)
			return rc;
	}
	while ((rc = parse_line(w, out)) > 0) {
		if (out->end <= w->at)
			continue;
		w->at = out->end;
		if (!w->writable || (out->prot & PROT_WRITE))
			return 1;
	}
	return rc;
}

/*
 * [K-msync-gap] msync(MS_ASYNC) only walks the mappings, and fails with
 * ENOMEM at the first gap.  PAGEMAP_SCAN passes over gaps in silence.
 */
int wt_vma_mapped(uintptr_t start, uintptr_t end)
{
	return wt_sys_msync_async(start, end - start);
}

/*
 * [K-huge-mremap] To resize a page inside a huge one is refused with EINVAL,
 * even to the size that it has.  Anywhere else that does nothing, if it is
 * mapped at all.  Powers of two from the first page on, the first that is not
 * inside is the second huge page, or what lies behind the only one.
 */
size_t wt_vma_page_size_at(uintptr_t start)
{
	size_t page = wt_page_size(), size = page;

	while (size &&
	       wt_sys_mremap_in_place(start + size, page, page) == -EINVAL)
		size *= 2;
	/* A filter may refuse all such calls so. */
	return size ? size : page;
}
