/* SPDX-License-Identifier: MIT */
/*
 * bug_io_uring.c: a registered buffer is written behind everybody's back.
 *
 * No public report is known; found by trying.  The kernel keeps the pages of a
 * fixed buffer pinned and writes to them without a fault, so what arrives after
 * a clearing is not seen, on any backend.  The limit is documented; what can be
 * asked is that wtrack_mark() makes it good.
 */
#include "support.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* As little of io_uring as one read takes. */
struct ring {
	int fd;
	struct io_uring_params p;
	char *rings;
	size_t rings_len;
	struct io_uring_sqe *sqes;
};

static int setup(struct io_uring_params *p)
{
	memset(p, 0, sizeof(*p));
	return (int)syscall(SYS_io_uring_setup, 2, p);
}

static const char *lacks_io_uring(void)
{
	struct io_uring_params p;
	int fd = setup(&p);

	if (fd < 0)
		return "io_uring cannot be used";
	close(fd);
	if (!(p.features & IORING_FEAT_SINGLE_MMAP))
		return "io_uring is too old";
	return NULL;
}

static struct ring ring_open(void)
{
	struct ring r;
	size_t cq;

	memset(&r, 0, sizeof(r));
	r.fd = setup(&r.p);
	assert_true(r.fd >= 0);
	r.rings_len = r.p.sq_off.array + r.p.sq_entries * sizeof(unsigned);
	cq = r.p.cq_off.cqes + r.p.cq_entries * sizeof(struct io_uring_cqe);
	r.rings_len = cq > r.rings_len ? cq : r.rings_len;
	r.rings = mmap(NULL, r.rings_len, PROT_READ | PROT_WRITE, MAP_SHARED,
		       r.fd, IORING_OFF_SQ_RING);
	assert_ptr_not_equal(r.rings, MAP_FAILED);
	r.sqes =
		mmap(NULL, r.p.sq_entries * sizeof(*r.sqes),
		     PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, IORING_OFF_SQES);
	assert_ptr_not_equal(r.sqes, MAP_FAILED);
	return r;
}

static void ring_close(struct ring *r)
{
	munmap(r->rings, r->rings_len);
	munmap(r->sqes, r->p.sq_entries * sizeof(*r->sqes));
	close(r->fd);
}

static unsigned *word(struct ring *r, unsigned offset)
{
	return (unsigned *)(r->rings + offset);
}

/* Reads `len` bytes at the start of the file; the result of the request. */
static int ring_read(struct ring *r, int opcode, int file, void *buf,
		     size_t len)
{
	unsigned tail = *word(r, r->p.sq_off.tail);
	unsigned slot = tail & *word(r, r->p.sq_off.ring_mask);
	unsigned head = *word(r, r->p.cq_off.head);
	struct io_uring_sqe *e = &r->sqes[slot];
	const struct io_uring_cqe *cqes;
	int result;

	memset(e, 0, sizeof(*e));
	e->opcode = (unsigned char)opcode;
	e->fd = file;
	e->addr = (uintptr_t)buf;
	e->len = (unsigned)len;
	word(r, r->p.sq_off.array)[slot] = slot;
	__atomic_store_n(word(r, r->p.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	assert_int_equal(syscall(SYS_io_uring_enter, r->fd, 1, 1,
				 IORING_ENTER_GETEVENTS, NULL, 0),
			 1);
	assert_int_not_equal(
		__atomic_load_n(word(r, r->p.cq_off.tail), __ATOMIC_ACQUIRE),
		head);
	cqes = (const void *)(r->rings + r->p.cq_off.cqes);
	result = cqes[head & *word(r, r->p.cq_off.ring_mask)].res;
	__atomic_store_n(word(r, r->p.cq_off.head), head + 1, __ATOMIC_RELEASE);
	return result;
}

static void a_fixed_buffer_must_be_marked_by_hand(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 4);
	struct mem file = mem_map(MEM_FILE_SHARED, 1, false);
	struct ring ring = ring_open();
	struct iovec buf = { p + page_size(), 2 * page_size() };

	assert_int_equal(wtrack_prepare_write(t, buf.iov_base, buf.iov_len), 0);
	assert_int_equal(syscall(SYS_io_uring_register, ring.fd,
				 IORING_REGISTER_BUFFERS, &buf, 1),
			 0);
	clear_all(t); /* to pin the pages for writing made them dirty */
	assert_int_equal(ring_read(&ring, IORING_OP_READ_FIXED, file.fd,
				   buf.iov_base, 100),
			 100);
	assert_memory_equal(buf.iov_base, file.base, 100);
	/* The documented limit; or [K-soft-pinned], and that is said. */
	if (runs_on("softdirty"))
		assert_true(flags_at(t, buf.iov_base) & WTRACK_RUN_DEGRADED);
	else
		assert_clean(t);
	assert_int_equal(wtrack_mark(t, buf.iov_base, 100), 0);
	assert_dirty_superset(t, p, PAGES(1));
	ring_close(&ring);
	mem_unmap(&file);
	wtrack_close(t);
	unmap_pages(p, 4);
}

/* Without a fixed buffer io_uring copies as read(2) does. */
static void a_plain_read_by_io_uring_is_seen(void **state)
{
	struct wtrack *t = open_on(*state);
	char *p = map_watched(t, 4);
	struct mem file = mem_map(MEM_FILE_SHARED, 1, false);
	struct ring ring = ring_open();

	assert_int_equal(ring_read(&ring, IORING_OP_READ, file.fd,
				   p + 2 * page_size(), 100),
			 100);
	assert_dirty(t, p, 2);
	ring_close(&ring);
	mem_unmap(&file);
	wtrack_close(t);
	unmap_pages(p, 4);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_NEEDS_IF(a_fixed_buffer_must_be_marked_by_hand, 0,
			      lacks_io_uring),
		CASE_NEEDS_IF(a_plain_read_by_io_uring_is_seen,
			      WTRACK_CAP_KERNEL_WRITES, lacks_io_uring),
	};

	return RUN_CASES("io_uring", cases);
}
