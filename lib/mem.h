/* SPDX-License-Identifier: MIT */
/*
 * mem.h: the library's own memory: whole mappings and pools of fixed size.
 *
 * Never malloc: allocators link to this library.  Pool memory is type-stable:
 * it is unmapped only with the pool, so a reader that holds a stale pointer
 * reads garbage, not a hole, and finds out by its version check (region.h).
 */
#ifndef WT_MEM_H
#define WT_MEM_H

#include <stddef.h>
#include <stdint.h>

/* Maps `len` bytes of zeroes and adds them to `*account`. */
int wt_map(size_t len, void **out, uint64_t *account);
void wt_unmap(void *addr, size_t len, uint64_t *account);

/* Objects of one size, at least 16 bytes.  Used under the engine's lock. */
struct wt_pool {
	size_t size; /* bytes an object takes */
	size_t free; /* objects on the list */
	void *list;  /* first free object; its second word links on */
	struct wt_slab *slabs;
	uint64_t *account;
};

void wt_pool_init(struct wt_pool *pool, size_t size, uint64_t *account);
void wt_pool_destroy(struct wt_pool *pool);
/* Makes the next `n` wt_pool_take() succeed. */
int wt_pool_reserve(struct wt_pool *pool, size_t n);
void *wt_pool_take(struct wt_pool *pool);
void wt_pool_give(struct wt_pool *pool, void *object);

#endif
