/* SPDX-License-Identifier: MIT */
/* page.c: asks for the size of a page, once. */
#include "page.h"

#include <unistd.h>

size_t wt_page_size(void)
{
	static size_t size;
	size_t s = __atomic_load_n(&size, __ATOMIC_RELAXED);

	if (!s) {
		s = (size_t)sysconf(_SC_PAGESIZE);
		__atomic_store_n(&size, s, __ATOMIC_RELAXED);
	}
	return s;
}

unsigned wt_page_shift(void)
{
	return (unsigned)__builtin_ctzl(wt_page_size());
}
