/* SPDX-License-Identifier: MIT */
/*
 * case_vmas.c: calls that change mappings, over one and over 1000 of them, all
 * empty: what is measured is the walk over the mappings.
 *
 * s4.mmap+munmap is the benchmark that fast path was made for.
 */
#include "kbench.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MAPPINGS   1000
#define CALLS      1000
#define READ_WRITE (PROT_READ | PROT_WRITE)

/* What a call costs hangs on how full the pages are that the kernel takes its
 * descriptions of mappings from.  So each iteration begins with other mappings
 * held besides; the least of so many repeats. */
#define ITERATIONS  24
#define HELD_MAX    48
#define HELD_STEP   7
#define PAUSE_NANOS 50000000

enum {
	MMAP_MUNMAP,
	MPROTECT_WHOLE,
	MPROTECT_SPLIT,
	MPROTECT_MANY,
	MUNMAP_EACH,
	MUNMAP_MANY,
	MADVISE_ONE,
	MADVISE_MANY,
	MREMAP_ONE,
	MREMAP_MANY
};

static void *map_at(unsigned char *where, size_t len, int prot)
{
	int fixed = where ? MAP_FIXED : 0;
	void *addr = mmap(where, len, prot,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed,
			  -1, 0);

	if (addr == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return addr;
}

static void unmap(void *addr, size_t len)
{
	if (munmap(addr, len) != 0)
		die("munmap: %s", strerror(errno));
}

static void empty(void *addr, size_t len)
{
	if (madvise(addr, len, MADV_DONTNEED) != 0)
		die("madvise: %s", strerror(errno));
}

static void move(unsigned char *from, unsigned char *to, size_t len)
{
	if (mremap(from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		die("mremap: %s", strerror(errno));
}

/* Room for all, that nothing of the process touches. */
static const char *set_up(struct trial *t)
{
	t->mapped = t->bytes + 4 * MAPPINGS * PAGE;
	t->mapping = map_at(NULL, t->mapped, PROT_NONE);
	t->base = t->mapping + MAPPINGS * PAGE;
	return NULL;
}

static void tear_down(struct trial *t)
{
	unmap_pages(t);
}

/* Each second one is left out of core dumps, which keeps them apart. */
static void map_many(struct trial *t)
{
	map_at(t->base, MAPPINGS * PAGE, READ_WRITE);
	for (size_t i = 0; i < MAPPINGS; i += 2)
		if (madvise(t->base + i * PAGE, PAGE, MADV_DONTDUMP) != 0)
			die("madvise(MADV_DONTDUMP): %s", strerror(errno));
}

/* The kernel frees what it does no longer need when it is left alone. */
static void pause_shortly(void)
{
	const struct timespec pause = { 0, PAUSE_NANOS };

	nanosleep(&pause, NULL);
}

static void hold_some(struct trial *t)
{
	size_t held = (size_t)t->iteration * HELD_STEP % HELD_MAX;

	for (size_t i = 0; i < held; i++)
		map_at(t->mapping + 2 * i * PAGE, PAGE, PROT_READ);
}

static void prepare(struct trial *t)
{
	t->units = CALLS;
	map_at(t->mapping, t->mapped, PROT_NONE);
	hold_some(t);
	pause_shortly();
	switch (t->kcase->way) {
	case MPROTECT_WHOLE:
	case MPROTECT_SPLIT:
	case MADVISE_ONE:
	case MREMAP_ONE:
		map_at(t->base, 48 * PAGE, READ_WRITE);
		break;
	case MREMAP_MANY:
		map_at(t->base + MAPPINGS * PAGE, MAPPINGS * PAGE, PROT_READ);
		map_many(t);
		break;
	case MMAP_MUNMAP:
		break;
	default:
		map_many(t);
	}
}

static void run_one(struct trial *t)
{
	unsigned char *part = t->base + 16 * PAGE;
	unsigned char *there = t->base + 1000 * PAGE;

	for (int i = 0; i < CALLS / 2; i++) {
		switch (t->kcase->way) {
		case MMAP_MUNMAP:
			unmap(map_at(NULL, 128 * MIB, READ_WRITE), 128 * MIB);
			unmap(map_at(NULL, 128 * MIB, READ_WRITE), 128 * MIB);
			break;
		case MPROTECT_WHOLE:
			protect(t->base, 48 * PAGE, PROT_READ);
			protect(t->base, 48 * PAGE, READ_WRITE);
			break;
		case MPROTECT_SPLIT:
			protect(part, 16 * PAGE, PROT_READ);
			protect(part, 16 * PAGE, READ_WRITE);
			break;
		case MADVISE_ONE:
			empty(t->base, 48 * PAGE);
			empty(t->base, 48 * PAGE);
			break;
		default:
			move(t->base, there, 48 * PAGE);
			move(there, t->base, 48 * PAGE);
		}
	}
}

static void run_many(struct trial *t)
{
	size_t len = MAPPINGS * PAGE;

	switch (t->kcase->way) {
	case MPROTECT_MANY:
		protect(t->base, len, PROT_READ);
		break;
	case MUNMAP_EACH:
		for (size_t i = 0; i < MAPPINGS; i++)
			unmap(t->base + i * PAGE, PAGE);
		break;
	case MUNMAP_MANY:
		unmap(t->base, len);
		break;
	case MADVISE_MANY:
		empty(t->base, len);
		break;
	default:
		move(t->base + len, t->base, len);
	}
}

/* munmap leaves a hole where mappings were, mremap where they came from; the
 * others leave mappings. */
static void check(struct trial *t)
{
	int way = t->kcase->way;
	unsigned char *part = t->base;
	bool gone = way == MUNMAP_EACH || way == MUNMAP_MANY;

	if (way == MREMAP_MANY) {
		part += MAPPINGS * PAGE;
		gone = true;
	}
	if ((msync(part, MAPPINGS * PAGE, MS_ASYNC) != 0) != gone)
		die(gone ? "mappings are left" : "mappings are gone");
}

static const struct steps one_steps = {
	.set_up = set_up,
	.prepare = prepare,
	.run = run_one,
	.check = check,
	.tear_down = tear_down,
};

static const struct steps many_steps = {
	.set_up = set_up,
	.prepare = prepare,
	.run = run_many,
	.check = check,
	.tear_down = tear_down,
};

#define CALLS_OF(name, steps, way_)                                 \
	{                                                           \
		ROW("s4." name, steps, 0), .way = way_,             \
					   .iterations = ITERATIONS \
	}

static const struct kcase cases[] = {
	CALLS_OF("mmap+munmap", one, MMAP_MUNMAP),
	CALLS_OF("mprotect.whole", one, MPROTECT_WHOLE),
	CALLS_OF("mprotect.split", one, MPROTECT_SPLIT),
	CALLS_OF("madvise.1", one, MADVISE_ONE),
	CALLS_OF("mremap.1", one, MREMAP_ONE),
	CALLS_OF("munmap.1", many, MUNMAP_EACH),
	CALLS_OF("mprotect.1000", many, MPROTECT_MANY),
	CALLS_OF("munmap.1000", many, MUNMAP_MANY),
	CALLS_OF("madvise.1000", many, MADVISE_MANY),
	CALLS_OF("mremap.1000", many, MREMAP_MANY),
};

const struct family family_vmas = FAMILY(cases);
