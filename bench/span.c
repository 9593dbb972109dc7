/* SPDX-License-Identifier: MIT */
/*
 * span.c: the memory that contenders take turns on.
 *
 * A page without access on either side keeps the kernel from merging the span
 * with a neighbour, which would make protecting it cheaper or dearer by chance.
 */
#include "bench.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct span span_map(const struct bench *b, size_t len)
{
	struct span span = { .len = len, .piece = len, .stride = len };
	unsigned char *p;

	p = mmap(NULL, len + 2 * b->page, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		bench_die("cannot map %zu bytes: %s", len, strerror(errno));
	span.base = p + b->page;
	if (mprotect(span.base, len, PROT_READ | PROT_WRITE) != 0)
		bench_die("mprotect: %s", strerror(errno));
	/* EINVAL: a kernel without huge pages. */
	if (madvise(span.base, len, MADV_NOHUGEPAGE) != 0 && errno != EINVAL)
		bench_die("MADV_NOHUGEPAGE: %s", strerror(errno));
	return span;
}

void span_unmap(const struct bench *b, struct span *span)
{
	munmap(span->base - b->page, span->len + 2 * b->page);
	span->base = NULL;
}

struct span span_cut(struct span span, size_t piece, size_t stride)
{
	span.piece = piece;
	span.stride = stride;
	return span;
}

bool span_is_whole(const struct span *span)
{
	return span->piece == span->stride;
}

size_t span_pieces(const struct span *span)
{
	return span->len / span->stride;
}

size_t span_write(const struct bench *b, const struct span *span, size_t step)
{
	volatile unsigned char *p = span->base;
	volatile unsigned char *end = p + span->len;
	size_t n = 0;

	if (step == 0)
		return 0;
	for (; p < end; p += step * b->page, n++)
		*p = 1;
	return n;
}

void span_populate(const struct bench *b, const struct span *span)
{
	span_write(b, span, 1);
}
