/* SPDX-License-Identifier: MIT */
/* areas.c: the mappings, their copies, and the comparison of both. */
#include "stress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct area areas[AREAS] = {
	{ .name = "huge", .pages = 2048, .huge = true, .discardable = true },
	{ .name = "huge too",
	  .pages = 1024,
	  .huge = true,
	  .discardable = true },
	{ .name = "small", .pages = 700, .discardable = true },
	{ .name = "few", .pages = 33, .discardable = true },
	{ .name = "shmem", .pages = 600, .shared = true, .discardable = true },
	/* A discarded page of it is another one, and reads clean. */
	{ .name = "private file", .pages = 300 },
};

/* Nothing is there, and it is aligned to huge pages. */
static char *reserve(size_t size)
{
	char *p = mmap(NULL, size + HUGE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before, behind;

	if (p == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	before = -(uintptr_t)p & (HUGE - 1);
	behind = HUGE - before;
	if (before)
		munmap(p, before);
	munmap(p + before + size, behind);
	return p + before;
}

static void register_area(const struct area *area)
{
	if (uffd_register(uffd, area->start, area->pages * PAGE) != 0)
		give_up("register %s: %s", area->name, strerror(errno));
}

static void map_area(struct area *area)
{
	size_t size = area->pages * PAGE;
	bool file = area->shared || !area->discardable;
	int flags = MAP_FIXED | (area->shared ? MAP_SHARED : MAP_PRIVATE);
	int fd = file ? memfd_create(area->name, 0) : -1;
	int advice = area->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;

	if (file && (fd < 0 || ftruncate(fd, (off_t)size) != 0))
		give_up("memfd: %s", strerror(errno));
	area->start = reserve(size);
	if (mmap(area->start, size, PROT_READ | PROT_WRITE,
		 flags | (file ? 0 : MAP_ANONYMOUS), fd, 0) != area->start)
		give_up("mmap %s: %s", area->name, strerror(errno));
	if (file)
		close(fd);
	else if (madvise(area->start, size, advice) != 0)
		give_up("madvise: %s", strerror(errno));
}

static void init_locks(struct area *area)
{
	pthread_rwlockattr_t attributes;

	/* Else who moves it would wait for ever. */
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(
		&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&area->lock, &attributes);
	pthread_mutex_init(&area->scanning, NULL);
}

void make_areas(void)
{
	for (size_t i = 0; i < AREAS; i++) {
		map_area(&areas[i]);
		register_area(&areas[i]);
		init_locks(&areas[i]);
		areas[i].copies = calloc(areas[i].pages, sizeof(uint64_t));
		if (!areas[i].copies)
			give_up("no memory");
	}
}

struct area *some_area(struct dice *dice)
{
	return &areas[roll(dice, AREAS)];
}

char *some_part(const struct area *area, struct dice *dice, size_t *size)
{
	size_t from = roll(dice, area->pages);
	size_t most = area->pages - from;

	/* Often a short one, so that others stay as they are. */
	if (most > 64 && roll(dice, 2))
		most = 64;
	*size = (1 + roll(dice, most)) * PAGE;
	return page_of(area, from);
}

/*
 * Elsewhere it is not registered: nothing is armed there, so that all of it
 * reads written once it is registered again.
 */
void move_area(struct area *area, struct dice *dice)
{
	size_t size = area->pages * PAGE;
	/* At times where huge pages do not fit. */
	size_t offset = roll(dice, 3) ? 0 : PAGE;
	char *to = reserve(size + offset);

	if (mremap(area->start, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
		   to + offset) != to + offset)
		give_up("mremap %s: %s", area->name, strerror(errno));
	if (offset)
		munmap(to, offset);
	area->start = to + offset;
	register_area(area);
}

char *page_of(const struct area *area, size_t page)
{
	return area->start + page * PAGE;
}

_Atomic uint64_t *counter_of(const struct area *area, size_t page)
{
	return (_Atomic uint64_t *)(void *)(page_of(area, page) +
					    page % 64 * sizeof(uint64_t));
}

void copy_pages(struct area *area, uint64_t start, uint64_t end)
{
	size_t page = (size_t)(start - (uintptr_t)area->start) / PAGE;

	for (; start < end; start += PAGE, page++)
		area->copies[page] = *counter_of(area, page);
}

size_t compare(struct area *area)
{
	size_t lost = 0;

	for (size_t i = 0; i < area->pages; i++) {
		uint64_t now = *counter_of(area, i);

		if (now == area->copies[i])
			continue;
		if (lost++ < 4)
			printf("LOST: %s, page %zu holds %llu, was copied as "
			       "%llu and not reported since\n",
			       area->name, i, (unsigned long long)now,
			       (unsigned long long)area->copies[i]);
	}
	return lost;
}
