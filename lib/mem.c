/* SPDX-License-Identifier: MIT */
/* mem.c: mappings and pools, the library's only memory. */
#include "mem.h"
#include "sys.h"

#include <errno.h>

/* Few mappings for many objects, yet 64 KiB per watched GiB is the budget. */
#define SLAB_BYTES ((size_t)16 << 10)

struct wt_slab {
	struct wt_slab *next;
	size_t bytes;
};

int wt_map(size_t len, void **out, uint64_t *account)
{
	int rc = wt_sys_mmap(len, out);

	if (!rc)
		__atomic_fetch_add(account, len, __ATOMIC_RELAXED);
	return rc;
}

void wt_unmap(void *addr, size_t len, uint64_t *account)
{
	if (!addr)
		return;
	wt_sys_munmap(addr, len);
	__atomic_fetch_sub(account, len, __ATOMIC_RELAXED);
}

void wt_pool_init(struct wt_pool *pool, size_t size, uint64_t *account)
{
	pool->size = size;
	pool->free = 0;
	pool->list = NULL;
	pool->slabs = NULL;
	pool->account = account;
}

void wt_pool_destroy(struct wt_pool *pool)
{
	struct wt_slab *slab = pool->slabs;

	while (slab) {
		struct wt_slab *next = slab->next;

		wt_unmap(slab, slab->bytes, pool->account);
		slab = next;
	}
	pool->slabs = NULL;
	pool->list = NULL;
	pool->free = 0;
}

/*
 * The link lies in the second word: stale readers load an object's first word
 * (a count that they check) and atomically what follows.
 */
static void **link_of(void *object)
{
	return (void **)object + 1;
}

void wt_pool_give(struct wt_pool *pool, void *object)
{
	__atomic_store_n(link_of(object), pool->list, __ATOMIC_RELEASE);
	pool->list = object;
	pool->free++;
}

void *wt_pool_take(struct wt_pool *pool)
{
	void *object = pool->list;

	pool->list = *link_of(object);
	pool->free--;
	return object;
}

static int grow(struct wt_pool *pool, size_t n)
{
	size_t bytes = sizeof(struct wt_slab) + n * pool->size;
	struct wt_slab *slab;
	char *at;
	void *p;
	int rc;

	if (bytes < SLAB_BYTES)
		bytes = SLAB_BYTES;
	bytes = (bytes + wt_page_size() - 1) & ~(wt_page_size() - 1);
	rc = wt_map(bytes, &p, pool->account);
	if (rc)
		return rc;
	slab = p;
	slab->next = pool->slabs;
	slab->bytes = bytes;
	pool->slabs = slab;
	at = (char *)slab + sizeof(*slab);
	for (; at + pool->size <= (char *)slab + bytes; at += pool->size)
		wt_pool_give(pool, at);
	return 0;
}

int wt_pool_reserve(struct wt_pool *pool, size_t n)
{
	if (pool->free >= n)
		return 0;
	return grow(pool, n - pool->free);
}
