/* SPDX-License-Identifier: MIT */
/*
 * memory.c: memory of small pages, of huge pages, and of none yet.
 */
#include "kbench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void advise(void *addr, size_t len, int advice, const char *name)
{
	if (madvise(addr, len, advice) != 0)
		die("madvise(%s): %s", name, strerror(errno));
}

/* Aligned as huge pages are, so that page tables are whole ones. */
static void reserve(struct trial *t)
{
	unsigned char *addr;
	size_t gap;

	t->mapped = t->bytes + HUGE_PAGE;
	addr = mmap(NULL, t->mapped, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (addr == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	gap = -(uintptr_t)addr & (HUGE_PAGE - 1);
	t->mapping = addr;
	t->base = addr + gap;
}

void unmap_pages(struct trial *t)
{
	if (t->mapping && munmap(t->mapping, t->mapped) != 0)
		die("munmap: %s", strerror(errno));
	t->mapping = t->base = NULL;
}

/* In place of what was there; nothing is populated. */
void map_afresh(struct trial *t)
{
	unmap_pages(t);
	reserve(t);
	/* A kernel without huge pages refuses the advice that it keeps to. */
	if (madvise(t->base, t->bytes, MADV_NOHUGEPAGE) != 0 && errno != EINVAL)
		die("madvise(MADV_NOHUGEPAGE): %s", strerror(errno));
}

void map_pages(struct trial *t)
{
	map_afresh(t);
	write_every(t, PAGE);
}

/* Returns why there are no huge pages, or NULL. */
const char *map_huge_pages(struct trial *t)
{
	size_t before;

	unmap_pages(t);
	reserve(t);
	if (madvise(t->base, t->bytes, MADV_HUGEPAGE) != 0)
		return "this kernel has no transparent huge pages";
	before = huge_bytes();
	write_every(t, HUGE_PAGE);
	if (huge_bytes() == before)
		return "transparent huge pages are switched off";
	if (huge_bytes() - before != t->bytes)
		return "there are not enough huge pages: it takes more memory";
	return NULL;
}

void discard(struct trial *t)
{
	advise(t->base, t->bytes, MADV_DONTNEED, "MADV_DONTNEED");
}

void protect(const void *addr, size_t len, int prot)
{
	/* The cast drops a promise of ours, not of the memory. */
	if (mprotect((void *)(uintptr_t)addr, len, prot) != 0)
		die("mprotect: %s", strerror(errno));
}

/* Few instructions, as they are part of what is measured. */
void write_every(const struct trial *t, size_t stride)
{
	volatile unsigned char *at = t->base, *end = at + t->bytes;

	for (; at < end; at += stride)
		*at = 1;
}

/* What this process has of transparent huge pages, mapped as such. */
size_t huge_bytes(void)
{
	char line[128];
	size_t kib = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "AnonHugePages: %zu kB", &kib) == 1)
			break;
	if (!f || fclose(f) != 0)
		die("/proc/self/smaps_rollup: %s", strerror(errno));
	return kib * KIB;
}
