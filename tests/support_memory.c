/* SPDX-License-Identifier: MIT */
/* support_memory.c: memory of every kind, and what a machine lacks. */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#elif __has_feature(thread_sanitizer)
#define SANITIZED        1
#define THREAD_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__SANITIZE_THREAD__)
#define SANITIZED        1
#define THREAD_SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
#ifndef THREAD_SANITIZED
#define THREAD_SANITIZED 0
#endif

size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- what a machine lacks ---- */

/* Bytes, by their name in /proc/meminfo; 0: it does not say. */
static size_t meminfo(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "re");
	size_t kib = 0, n = strlen(name);
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && line[n] == ':')
			sscanf(line + n + 1, "%zu kB", &kib);
	if (f)
		fclose(f);
	return kib << 10;
}

static size_t hugetlb_page_size(void)
{
	return meminfo("Hugepagesize");
}

const char *lacks_huge_memory(void)
{
	static char why[64];
	size_t needed = 4 * wt_huge_size();

	snprintf(why, sizeof(why),
		 "four huge pages are %zu MiB, more than is free",
		 needed >> 20);
	return meminfo("MemAvailable") < needed ? why : NULL;
}

const char *lacks_hugetlb(void)
{
	size_t huge = hugetlb_page_size();
	void *p;

	if (!huge)
		return "the kernel has no huge pages";
	p = mmap(NULL, 8 * huge, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (p == MAP_FAILED)
		return "vm.nr_hugepages is below 8";
	munmap(p, 8 * huge);
	return NULL;
}

const char *lacks_root(void)
{
	return geteuid() == 0 ? NULL : "it needs root";
}

bool under_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload");
}

const char *lacks_native_run(void)
{
	if (SANITIZED)
		return "too slow or too different under a sanitizer";
	if (under_valgrind())
		return "too slow or too different under valgrind";
	return NULL;
}

/*
 * ThreadSanitizer keeps threads, locks and mappings of its own: it does not
 * follow a process that forks with several threads, or that ends while one of
 * them holds a lock, and it maps memory when it likes.  It runs signal handlers
 * with all signals blocked, so that a fault in one kills.
 */
const char *lacks_untouched_threads(void)
{
	return THREAD_SANITIZED ? "ThreadSanitizer does not follow it" : NULL;
}

int rounds(int n)
{
	return lacks_native_run() ? n / 10 : n;
}

const char *lacks_scan(void)
{
	return backend_error("scan") ? "the scan backend does not work" : NULL;
}

const char *lacks_mprotect(void)
{
	return backend_error("mprotect") ? "the mprotect backend does not work"
					 : NULL;
}

/* ---- memory ---- */

static const char *const kind_names[MEM_KINDS] = {
	"anonymous",    "transparent_huge", "shared_anonymous", "memfd",
	"private_file", "shared_file",      "hugetlb",
};

const char *mem_kind_name(enum mem_kind kind)
{
	return kind_names[kind];
}

bool watches_kind(struct wtrack *t, enum mem_kind kind)
{
	bool file = kind == MEM_FILE_PRIVATE || kind == MEM_FILE_SHARED;
	struct wtrack_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_info(t, &info), 0);
	if (!strcmp(info.backend, "softdirty"))
		return kind == MEM_ANON || kind == MEM_THP;
	return !file || (caps_of(t) & WTRACK_CAP_FILES);
}

const char *mem_kind_lacks(enum mem_kind kind)
{
	return kind == MEM_HUGETLB ? lacks_hugetlb() : NULL;
}

static char *map_aligned(size_t len)
{
	size_t huge = wt_huge_size(), head;
	char *p = mmap(NULL, len + huge, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return MAP_FAILED;
	head = -(uintptr_t)p & (huge - 1);
	if (head)
		munmap(p, head);
	munmap(p + head + len, huge - head);
	madvise(p + head, len, MADV_HUGEPAGE);
	return p + head;
}

static int new_file(enum mem_kind kind, size_t len)
{
	const char *dir = getenv("TMPDIR");
	char path[256], block[256];
	int fd;

	snprintf(path, sizeof(path), "%s/wtrack-test-XXXXXX",
		 dir && *dir ? dir : "/tmp");
	fd = kind == MEM_MEMFD ? memfd_create("wtrack-test", MFD_CLOEXEC)
			       : mkostemp(path, O_CLOEXEC);
	assert_true(fd >= 0);
	if (kind != MEM_MEMFD)
		unlink(path);
	memset(block, 'f', sizeof(block));
	for (size_t at = 0; kind != MEM_MEMFD && at < len; at += sizeof(block))
		assert_int_equal(write(fd, block, sizeof(block)),
				 sizeof(block));
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	return fd;
}

static char *map_kind(enum mem_kind kind, size_t len, int *fd)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	if (kind == MEM_THP)
		return map_aligned(len);
	if (kind == MEM_HUGETLB)
		flags |= MAP_HUGETLB;
	else if (kind == MEM_SHARED_ANON)
		flags = MAP_SHARED | MAP_ANONYMOUS;
	else if (kind == MEM_FILE_PRIVATE)
		flags = MAP_PRIVATE;
	else if (kind != MEM_ANON)
		flags = MAP_SHARED;
	if (!(flags & MAP_ANONYMOUS))
		*fd = new_file(kind, len);
	return mmap(NULL, len, PROT_READ | PROT_WRITE, flags, *fd, 0);
}

struct mem mem_map(enum mem_kind kind, size_t pages, bool populate)
{
	struct mem m = { NULL, pages, page_size(), -1 };

	if (kind == MEM_HUGETLB)
		m.page = hugetlb_page_size();
	m.base = map_kind(kind, pages * m.page, &m.fd);
	assert_ptr_not_equal(m.base, MAP_FAILED);
	/* [K-soft-huge] MEM_THP is for that. */
	if (kind == MEM_ANON && runs_on("softdirty"))
		madvise(m.base, pages * m.page, MADV_NOHUGEPAGE);
	for (size_t i = 0; populate && i < pages; i++)
		*(volatile char *)(m.base + i * m.page) = 1;
	return m;
}

void mem_unmap(struct mem *m)
{
	munmap(m->base, m->pages * m->page);
	if (m->fd >= 0)
		close(m->fd);
}

char *map_pages(size_t pages)
{
	return mem_map(MEM_ANON, pages, true).base;
}

char *map_watched(struct wtrack *t, size_t pages)
{
	char *base = map_pages(pages);

	assert_int_equal(wtrack_watch(t, base, pages * page_size(), 0), 0);
	return base;
}

void unmap_pages(char *base, size_t pages)
{
	assert_int_equal(munmap(base, pages * page_size()), 0);
}

void touch(char *base, size_t page)
{
	++*(volatile char *)(base + page * page_size());
}
