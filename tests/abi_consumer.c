/* SPDX-License-Identifier: MIT */
/*
 * A stranger's program, compiled against the installed library: says which
 * backends work here and why others do not, and tracks one write with each.
 * Prints "backend NAME" for each that works; exits non-zero if one misleads.
 * Compiles as C99 and as C++11.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wtrack.h>

static int fail(const char *what, long rc)
{
	printf("FAIL %s: %ld\n", what, rc);
	return 1;
}

/* Writes one page of four; the collection must report it. */
static int track(struct wtrack *t)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct wtrack_run runs[4];
	ssize_t n;
	int rc;
	char *area = (char *)mmap(NULL, 4 * page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == (char *)MAP_FAILED)
		return fail("mmap", errno);
	rc = wtrack_watch(t, area, 4 * page, 0);
	if (rc < 0)
		return fail("wtrack_watch", rc);
	area[2 * page] = 1;
	n = wtrack_collect(t, NULL, runs, 4, WTRACK_GET | WTRACK_CLEAR);
	if (n < 1)
		return fail("wtrack_collect", (long)n);
	if (runs[0].start > (uintptr_t)(area + 2 * page) ||
	    runs[n - 1].end < (uintptr_t)(area + 3 * page))
		return fail("the written page is not reported", (long)n);
	return munmap(area, 4 * page);
}

static void tell_doors(struct wtrack *t)
{
	struct wtrack_info info;

	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	if (wtrack_info(t, &info) == 0)
		printf("doors: device %d, syscall %d, user %d, pagemap %d, "
		       "selftest %d, signal %d\n",
		       info.door_device, info.door_syscall, info.door_user,
		       info.door_pagemap, info.door_selftest, info.door_signal);
}

static int try_backend(const char *name)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct wtrack *t = NULL;
	int rc;

	options.backend = name;
	rc = wtrack_open(&options, &t);
	if (rc == -EOPNOTSUPP) {
		printf("no backend %s here\n", name);
		return 0;
	}
	if (rc < 0)
		return fail(name, rc);
	tell_doors(t);
	rc = track(t);
	wtrack_close(t);
	if (rc == 0)
		printf("backend %s\n", name);
	return rc;
}

int main(void)
{
	return try_backend("scan") | try_backend("async") | try_backend("wp") |
	       try_backend("monitor") | try_backend("softdirty") |
	       try_backend("mprotect") | try_backend("all");
}
