/* SPDX-License-Identifier: MIT */
/*
 * dirtylog.c: the parts of a tracker written by hand that do not depend on how
 * its faults arrive: one span, one byte per page, and, for those by mprotect,
 * one mprotect per fault.
 */
#include "bench.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static struct dirtylog {
	unsigned char *base;
	size_t len;
	size_t page;
	unsigned page_shift;
	unsigned char *dirty; /* one byte per page */
	size_t pages;
} dirtylog;

void dirtylog_enter(const struct bench *b, const struct span *span)
{
	struct dirtylog *log = &dirtylog;

	log->page = b->page;
	log->page_shift = (unsigned)__builtin_ctzl(b->page);
	log->pages = span->len >> log->page_shift;
	log->dirty = mmap(NULL, log->pages, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (log->dirty == MAP_FAILED)
		bench_die("cannot map a dirty log: %s", strerror(errno));
	log->base = span->base;
	log->len = span->len;
}

void dirtylog_leave(void)
{
	munmap(dirtylog.dirty, dirtylog.pages);
	dirtylog.len = 0;
}

unsigned char *dirtylog_note(void *addr)
{
	struct dirtylog *log = &dirtylog;
	size_t off = (size_t)((unsigned char *)addr - log->base);
	size_t index = off >> log->page_shift;

	if (off >= log->len)
		return NULL;
	log->dirty[index] = 1;
	return log->base + (index << log->page_shift);
}

bool dirtylog_fault(void *addr)
{
	unsigned char *page = dirtylog_note(addr);

	return page &&
	       mprotect(page, dirtylog.page, PROT_READ | PROT_WRITE) == 0;
}

void dirtylog_attach(struct contender *c, unsigned char *addr, size_t len)
{
	(void)c;
	if (mprotect(addr, len, PROT_READ) != 0)
		bench_die("mprotect: %s", strerror(errno));
}

void dirtylog_detach(struct contender *c, unsigned char *addr, size_t len)
{
	(void)c;
	if (mprotect(addr, len, PROT_READ | PROT_WRITE) != 0)
		bench_die("mprotect: %s", strerror(errno));
}

size_t dirtylog_take(bool clear)
{
	struct dirtylog *log = &dirtylog;
	size_t n = 0;

	for (size_t i = 0; i < log->pages; i++)
		n += log->dirty[i];
	if (clear)
		memset(log->dirty, 0, log->pages);
	return n;
}

size_t dirtylog_collect(struct contender *c, const struct span *span,
			bool clear)
{
	size_t n = dirtylog_take(clear);

	if (clear)
		dirtylog_attach(c, span->base, span->len);
	return n;
}
