/* SPDX-License-Identifier: MIT */
/* around.h: memory for tests of vm.uffd_wp_async_around, and what it may do. */
#ifndef KTEST_AROUND_H
#define KTEST_AROUND_H

#include "ktest.h"

#define BLOCK ((size_t)16)
#define PAGES ((size_t)256)
#define SIZE  (PAGES * PAGE)

/* Or skips the test.  The runner puts it back. */
void around_switch(long value);
/* All armed; page N holds 1000 + N. */
char *around_memory(enum kind kind);
void around_write(char *start, size_t page, unsigned char *want);
/* What is written is reported, and nothing outside of these blocks. */
void around_expect(const char *what, char *start, const unsigned char *want);

#endif
