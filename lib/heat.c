/* SPDX-License-Identifier: MIT */
/* heat.c: the bytes of pages under a policy. */
#include "heat.h"
#include "policy.h"
#include "sparse.h"
#include "sys.h"

#include <string.h>

#define BLOCKS (((size_t)1 << WT_SPARSE_SHIFT) / WT_HEAT_PAGES)

struct chunk {
	struct wt_heat block[BLOCKS];
};

static struct wt_sparse map;
static uint64_t used; /* blocks */

static uintptr_t page_of(uintptr_t addr)
{
	return addr >> wt_page_shift();
}

size_t wt_heat_block(void)
{
	return (size_t)WT_HEAT_PAGES << wt_page_shift();
}

static struct wt_heat *block_of(uintptr_t page)
{
	struct chunk *c = wt_sparse_at(&map, page);

	return c ? &c->block[page / WT_HEAT_PAGES % BLOCKS] : NULL;
}

struct wt_heat *wt_heat_at(uintptr_t addr)
{
	return block_of(page_of(addr));
}

/* ---- reserving ---- */

static size_t count_missing(uintptr_t page, uintptr_t last)
{
	size_t n = 0;

	for (; page < last; page += WT_HEAT_PAGES)
		n += !block_of(page)->byte;
	return n;
}

int wt_heat_reserve(uintptr_t start, uintptr_t end)
{
	uintptr_t page = page_of(start) & ~(uintptr_t)(WT_HEAT_PAGES - 1);
	uintptr_t last = page_of(end - 1) + 1;
	size_t missing;
	uint8_t *bytes;
	void *p;
	int rc = wt_sparse_reserve(&map, page, last, sizeof(struct chunk));

	if (rc)
		return rc;
	missing = count_missing(page, last);
	if (!missing)
		return 0;
	missing *= WT_HEAT_PAGES;
	missing = (missing + wt_page_size() - 1) & ~(wt_page_size() - 1);
	rc = wt_map(missing, &p, &map.bytes);
	if (rc)
		return rc;
	for (bytes = p; page < last; page += WT_HEAT_PAGES) {
		struct wt_heat *h = block_of(page);

		if (h->byte)
			continue;
		__atomic_store_n(&h->byte, bytes, __ATOMIC_RELEASE);
		bytes += WT_HEAT_PAGES;
	}
	return 0;
}

static void set_used(struct wt_heat *h, uint8_t is)
{
	uint8_t was = __atomic_exchange_n(&h->used, is, __ATOMIC_RELAXED);

	__atomic_fetch_add(&used, (uint64_t)is - was, __ATOMIC_RELAXED);
}

void wt_heat_forget(uintptr_t start, uintptr_t end)
{
	wt_heat_set(start, end, 0);
	for (uintptr_t page = page_of(start); page < page_of(end);) {
		uintptr_t next = (page | (WT_HEAT_PAGES - 1)) + 1;
		struct wt_heat *h = block_of(page);

		if (!(page % WT_HEAT_PAGES) && next <= page_of(end) && h &&
		    __atomic_load_n(&h->used, __ATOMIC_RELAXED)) {
			set_used(h, 0);
			wt_heat_count(h, false);
		}
		page = next;
	}
}

/* ---- bytes ---- */

uint8_t wt_heat_get(uintptr_t addr)
{
	const struct wt_heat *h = wt_heat_at(addr);

	if (!h || !__atomic_load_n(&h->used, __ATOMIC_RELAXED))
		return 0;
	return __atomic_load_n(&h->byte[page_of(addr) % WT_HEAT_PAGES],
			       __ATOMIC_RELAXED);
}

uint8_t *wt_heat_bytes_at(uintptr_t addr)
{
	struct wt_heat *h = wt_heat_at(addr);

	if (!__atomic_load_n(&h->used, __ATOMIC_RELAXED))
		set_used(h, 1);
	return h->byte + page_of(addr) % WT_HEAT_PAGES;
}

/* The part of [page, last) that lies in one block. */
static void set_in_block(uintptr_t page, uintptr_t last, uint8_t byte)
{
	struct wt_heat *h = block_of(page);

	if (!h || !h->byte ||
	    (!byte && !__atomic_load_n(&h->used, __ATOMIC_RELAXED)))
		return;
	if (!__atomic_load_n(&h->used, __ATOMIC_RELAXED))
		set_used(h, 1);
	if (!wt_byte_is_armed(byte))
		__atomic_store_n(&h->fused, 0, __ATOMIC_RELAXED);
	for (; page < last; page++)
		__atomic_store_n(&h->byte[page % WT_HEAT_PAGES], byte,
				 __ATOMIC_RELAXED);
}

void wt_heat_set(uintptr_t start, uintptr_t end, uint8_t byte)
{
	uintptr_t page = page_of(start), last = page_of(end);

	while (page < last) {
		uintptr_t next = (page | (WT_HEAT_PAGES - 1)) + 1;

		set_in_block(page, next < last ? next : last, byte);
		page = next;
	}
}

/* The first address from `start` on that lies in a block in use, or `end`. */
static uintptr_t next_used(uintptr_t start, uintptr_t end)
{
	uintptr_t page = page_of(start), last = page_of(end);

	while (page < last) {
		const struct wt_heat *h = block_of(page);

		if (h && __atomic_load_n(&h->used, __ATOMIC_RELAXED))
			return page << wt_page_shift();
		page = (page | (WT_HEAT_PAGES - 1)) + 1;
	}
	return end;
}

uintptr_t wt_heat_extent(uintptr_t start, uintptr_t end, uint8_t *byte)
{
	uintptr_t page = page_of(start), last = page_of(end);
	uintptr_t limit = (page | (WT_HEAT_PAGES - 1)) + 1;
	const struct wt_heat *h = block_of(page);
	const uint8_t *at;

	*byte = 0;
	if (!h || !__atomic_load_n(&h->used, __ATOMIC_RELAXED))
		return next_used(start, end);
	at = h->byte + page % WT_HEAT_PAGES;
	*byte = __atomic_load_n(at, __ATOMIC_RELAXED);
	if (limit > last)
		limit = last;
	while (++page < limit &&
	       __atomic_load_n(++at, __ATOMIC_RELAXED) == *byte)
		continue;
	return page << wt_page_shift();
}

static bool is_fused(uintptr_t addr, uintptr_t end)
{
	const struct wt_heat *h;

	if (end - addr < wt_heat_block())
		return false;
	h = wt_heat_at(addr);
	return h && __atomic_load_n(&h->fused, __ATOMIC_RELAXED);
}

uintptr_t wt_heat_fused_until(uintptr_t start, uintptr_t end)
{
	if (start & (wt_heat_block() - 1))
		return start;
	while (start < end && is_fused(start, end))
		start += wt_heat_block();
	return start;
}

uintptr_t wt_heat_next_fused(uintptr_t start, uintptr_t end)
{
	uintptr_t at = (start + wt_heat_block() - 1) & ~(wt_heat_block() - 1);

	while (at >= start && at < end && !is_fused(at, end))
		at += wt_heat_block();
	return at < start || at > end ? end : at;
}

uint64_t wt_heat_bytes(void)
{
	return __atomic_load_n(&map.bytes, __ATOMIC_RELAXED);
}

uint64_t wt_heat_used_bytes(void)
{
	return __atomic_load_n(&used, __ATOMIC_RELAXED) * WT_HEAT_BYTES;
}
