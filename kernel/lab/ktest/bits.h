/* SPDX-License-Identifier: MIT */
/*
 * bits.h: asynchronous protection as the bits of pagemap show it, which needs
 * no PAGEMAP_SCAN.
 */
#ifndef KTEST_BITS_H
#define KTEST_BITS_H

#include "ktest.h"

bool is_armed(const char *page);
/* Exactly the pages that were written to are not armed. */
void expect_bits(const char *what, const char *start, size_t pages,
		 const unsigned char *written);
void expect_all(const char *what, const char *start, size_t pages, bool armed);
/* Arms, reads, writes to and arms again; page N may then hold N + 100 or 200.
 */
void follow(const char *what, char *start, size_t pages);

#endif
