/* SPDX-License-Identifier: MIT */
/* announced.c: faults announce their pages, clearings heed them. */
#include "announced.h"
#include "dirtymap.h"

uint64_t *wt_announce(struct wt_announced *f, uintptr_t addr)
{
	for (size_t i = 0; i < WT_ANNOUNCED; i++) {
		uintptr_t none = 0;

		if (__atomic_compare_exchange_n(&f->addr[i], &none, addr, false,
						__ATOMIC_SEQ_CST,
						__ATOMIC_RELAXED))
			return (uint64_t *)&f->addr[i];
	}
	wt_announce_any(f);
	return &f->others;
}

void wt_withdraw_announcement(struct wt_announced *f, uint64_t *slot)
{
	if (slot == &f->others)
		wt_withdraw_any(f);
	else
		__atomic_store_n(slot, 0, __ATOMIC_SEQ_CST);
}

void wt_announce_any(struct wt_announced *f)
{
	__atomic_fetch_add(&f->others, 1, __ATOMIC_SEQ_CST);
}

void wt_withdraw_any(struct wt_announced *f)
{
	__atomic_fetch_sub(&f->others, 1, __ATOMIC_SEQ_CST);
}

void wt_heed_announced(const struct wt_announced *f, const struct wt_span *s)
{
	if (__atomic_load_n(&f->others, __ATOMIC_SEQ_CST))
		wt_dirty_set(s->start, s->end);
	for (size_t i = 0; i < WT_ANNOUNCED; i++) {
		uintptr_t addr = __atomic_load_n(&f->addr[i], __ATOMIC_SEQ_CST);
		struct wt_span block = wt_block_at(s, addr);

		/* Its grain may begin before what was cleared, or end after. */
		if (block.start < block.end)
			wt_dirty_set(block.start, block.end);
	}
}

void wt_announced_reset(struct wt_announced *f)
{
	for (size_t i = 0; i < WT_ANNOUNCED; i++)
		__atomic_store_n(&f->addr[i], 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&f->others, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&f->clears, 0, __ATOMIC_SEQ_CST);
}
