/* SPDX-License-Identifier: MIT */
/*
 * heat.h: one byte a page, for ranges under a policy (policy.h says which).
 *
 * Room is reserved when a range comes under a policy; the kernel gives memory
 * only where bytes are written, which is where pages have been dirty.  Blocks
 * of 512 pages keep apart what is known of them as a whole.  Blocks stay, as
 * chunks of a sparse map do; with the range their bytes become 0.
 *
 * Bytes are loaded and stored by whoever collects, without locks: what two
 * collections of the same page at the same time make of it costs at most a
 * fault or a false page.
 */
#ifndef WT_HEAT_H
#define WT_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Pages of a block.  With pages of 4 KiB it is a page table, with larger ones
 * some part of one: that hot and cold pages lie apart is a matter of their
 * number.
 */
#define WT_HEAT_PAGES 512

struct wt_heat {
	uint8_t *byte;    /* WT_HEAT_PAGES of them; NULL: not reserved */
	uint8_t used;     /* a byte may be other than 0 */
	uint8_t fused;    /* all armed; best looked at and cleared in one */
	uint8_t deferred; /* epochs that its clearing has been put off */
};

/* Epochs that its clearing has been put off, up to now. */
static inline unsigned wt_heat_deferred(const struct wt_heat *h)
{
	return __atomic_load_n(&h->deferred, __ATOMIC_RELAXED);
}

static inline void wt_heat_count(struct wt_heat *h, bool put_off)
{
	unsigned epochs = put_off ? wt_heat_deferred(h) + 1 : 0;

	__atomic_store_n(&h->deferred, (uint8_t)epochs, __ATOMIC_RELAXED);
}

/* Bytes of memory that a block takes when it is used. */
#define WT_HEAT_BYTES (WT_HEAT_PAGES + sizeof(struct wt_heat))

/* Makes room for [start, end).  Engine's lock.  -ENOMEM. */
int wt_heat_reserve(uintptr_t start, uintptr_t end);
/* Its bytes become 0.  Engine's lock. */
void wt_heat_forget(uintptr_t start, uintptr_t end);

/* The block of `addr`, which must be reserved. */
struct wt_heat *wt_heat_at(uintptr_t addr);
uint8_t wt_heat_get(uintptr_t addr);
/* The byte of `addr` in its block, which is in use from now on. */
uint8_t *wt_heat_bytes_at(uintptr_t addr);
/* Setting what is not known to be armed ends the fusing of its block. */
void wt_heat_set(uintptr_t start, uintptr_t end, uint8_t byte);
/* Where the pages with the byte of `start` end, at most `end`. */
uintptr_t wt_heat_extent(uintptr_t start, uintptr_t end, uint8_t *byte);
/*
 * Where the blocks of [start, end) end that are to be fused, and all lie in it;
 * `start`: there is none.  Where the next of them begins, or `end`.
 */
uintptr_t wt_heat_fused_until(uintptr_t start, uintptr_t end);
uintptr_t wt_heat_next_fused(uintptr_t start, uintptr_t end);

/* Bytes mapped, and bytes of the blocks in use; process-wide. */
uint64_t wt_heat_bytes(void);
uint64_t wt_heat_used_bytes(void);

/* Bytes of a block's memory. */
size_t wt_heat_block(void);

#endif
