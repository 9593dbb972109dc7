/* SPDX-License-Identifier: MIT */
/*
 * case_sync.c: a userfaultfd that wants to be told of each write is told, also
 * where memory was armed while it was empty; the kernel's shortcuts are for
 * asynchronous tracking alone.
 */
#include "ktest.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define PAGES ((size_t)16)

static void *store_thread(void *page)
{
	store(page, 77);
	return NULL;
}

/* The message must be about this page, and about a write to a protected one. */
static void expect_message(enum kind kind, int fd, const char *page)
{
	struct pollfd waiting = { .fd = fd, .events = POLLIN };
	struct wt_uffd_msg message;

	check(poll(&waiting, 1, 20000) == 1, "%s: no message about a write",
	      kind_names[kind]);
	check(read(fd, &message, sizeof(message)) == sizeof(message),
	      "read: %s", strerror(errno));
	check(message.event == WT_UFFD_EVENT_PAGEFAULT && (message.flags & 2) &&
		      (message.address & ~(PAGE - 1)) == (uintptr_t)page,
	      "%s: another message: event %x, flags %llx", kind_names[kind],
	      message.event, (unsigned long long)message.flags);
}

/* What was done to the memory before the write. */
enum before {
	NOTHING,
	READ,
	POPULATED
};

static void fill(enum kind kind, char *start, size_t size)
{
	if (kind == KIND_THP)
		populate_thp(start, size);
	for (size_t i = 0; i < size; i += PAGE)
		store(start + i, 1);
}

static void one_kind(enum kind kind, enum before before)
{
	size_t size = kind == KIND_THP ? HUGE : PAGES * PAGE;
	char *start;

	close(uffd);
	uffd = uffd_open(FEATURES_SYNC);
	if (uffd < 0)
		skip("no synchronous write protection: %s", strerror(errno));
	start = map(kind, size);
	if (before == POPULATED)
		fill(kind, start, size);
	arm(start, size, true);
	/* Neighbours, too: each is asked for by itself. */
	for (size_t page = 1; page < PAGES; page += page < 5 ? 1 : 5) {
		char *at = start + page * PAGE;
		pthread_t thread;

		if (before == READ)
			load(at);
		check(pthread_create(&thread, NULL, store_thread, at) == 0,
		      "no thread");
		expect_message(kind, uffd, at);
		check(load(at) != 77, "%s: the write came first",
		      kind_names[kind]);
		arm(at, PAGE, false);
		pthread_join(thread, NULL);
		check(load(at) == 77, "%s: the write is lost",
		      kind_names[kind]);
	}
}

static void empty(void)
{
	one_kind(KIND_ANON, NOTHING);
	one_kind(KIND_THP, NOTHING);
	one_kind(KIND_SHMEM, NOTHING);
}

static void zero_page(void)
{
	one_kind(KIND_ANON, READ);
	one_kind(KIND_SHMEM, READ);
}

/* A private mapping of shmem is a file to the kernel's fault handler. */
static void private_file(void)
{
	one_kind(KIND_FILE, NOTHING);
	one_kind(KIND_FILE, READ);
}

static void populated(void)
{
	one_kind(KIND_ANON, POPULATED);
	one_kind(KIND_THP, POPULATED);
	one_kind(KIND_SHMEM, POPULATED);
}

const struct test sync_tests[] = {
	{ "sync_empty", empty },
	{ "sync_zero_page", zero_page },
	{ "sync_populated", populated },
	{ "sync_private_file", private_file },
	{ 0 },
};
