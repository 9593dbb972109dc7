/* SPDX-License-Identifier: MIT */
/* bits.c: the bit of pagemap that says that a page is armed. */
#include "bits.h"

#include <string.h>

bool is_armed(const char *page)
{
	return pagemap_entry(pagemap, page) & WT_PM_UFFD_WP;
}

void expect_bits(const char *what, const char *start, size_t pages,
		 const unsigned char *written)
{
	for (size_t i = 0; i < pages; i++)
		check(is_armed(start + i * PAGE) == !written[i],
		      "%s: page %zu %s", what, i,
		      written[i] ? "is armed, and was written to"
				 : "is not armed");
}

void expect_all(const char *what, const char *start, size_t pages, bool armed)
{
	for (size_t i = 0; i < pages; i++)
		check(is_armed(start + i * PAGE) == armed, "%s: page %zu %s",
		      what, i, armed ? "is not armed" : "is armed");
}

void follow(const char *what, char *start, size_t pages)
{
	unsigned char *written = new_set(pages);

	arm(start, pages * PAGE, true);
	expect_all(what, start, pages, true);
	for (size_t i = 0; i < pages; i += 2)
		load(start + i * PAGE);
	expect_all(what, start, pages, true);
	for (size_t i = 0; i < pages; i += 3) {
		store(start + i * PAGE, i + 100);
		written[i] = 1;
	}
	expect_bits(what, start, pages, written);
	arm(start, pages * PAGE, true);
	expect_all(what, start, pages, true);
	memset(written, 0, pages);
	for (size_t i = 1; i < pages; i += 5) {
		store(start + i * PAGE, i + 200);
		written[i] = 1;
	}
	expect_bits(what, start, pages, written);
	for (size_t i = 0; i < pages; i++)
		if (i % 5 == 1 || i % 3 == 0)
			check(load(start + i * PAGE) ==
				      i + (i % 5 == 1 ? 200 : 100),
			      "%s: page %zu changed", what, i);
	arm(start, pages * PAGE, false);
	expect_all(what, start, pages, false);
}
