/* SPDX-License-Identifier: MIT */
/*
 * page.h: addresses, and how the kernel divides memory into pages, page tables
 * and huge pages.
 *
 * [K-page-table] A page table is a page of entries of 8 bytes, one for a page:
 * with pages of 4 KiB it maps 2 MiB, with pages of 64 KiB 512 MiB.  The
 * kernel's own huge page takes the place of one table.  Those of hugetlb are of
 * other sizes as well; only their mapping tells.
 */
#ifndef WT_PAGE_H
#define WT_PAGE_H

#include <stddef.h>
#include <stdint.h>

/* [K-tags] The highest bits of a pointer that are no part of the address. */
#if defined(__aarch64__)
#define WT_TAG_BITS 8
#else
#define WT_TAG_BITS 0
#endif

/*
 * The address of what a pointer points to; allocators and sanitizers keep tags
 * beside it.  The highest bit of an address is repeated in those above.
 */
static inline uintptr_t wt_address(const void *p)
{
	return (uintptr_t)((intptr_t)((uintptr_t)p << WT_TAG_BITS) >>
			   WT_TAG_BITS);
}

/* Bytes; the same for the life of the process. */
size_t wt_page_size(void);
unsigned wt_page_shift(void);

/* The entries of a page table. */
static inline size_t wt_page_entries(void)
{
	return wt_page_size() / sizeof(uint64_t);
}

/* Bytes that a page table maps, and that a huge page is; aligned to it. */
static inline size_t wt_huge_size(void)
{
	return wt_page_entries() << wt_page_shift();
}

/* The first boundary of huge pages from `addr` on; 0 if there is none. */
static inline uintptr_t wt_huge_up(uintptr_t addr)
{
	return (addr + wt_huge_size() - 1) & ~(uintptr_t)(wt_huge_size() - 1);
}

#endif
