/* SPDX-License-Identifier: MIT */
/*
 * lossy.c: put before the library, it forgets or invents what was written.
 *
 * Built and preloaded by tool_selftest.sh: a test that cannot fail tells
 * nothing.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <wtrack.h>

typedef ssize_t collect_fn(struct wtrack *, struct wtrack_cursor *,
			   struct wtrack_run *, size_t, unsigned);

ssize_t wtrack_collect(struct wtrack *t, struct wtrack_cursor *at,
		       struct wtrack_run *runs, size_t nruns, unsigned flags)
{
	collect_fn *real =
		(collect_fn *)(uintptr_t)dlsym(RTLD_NEXT, "wtrack_collect");
	ssize_t n = real(t, at, runs, nruns, flags);
	static uintptr_t lowest = UINTPTR_MAX; /* not to leave the memory */
	static int calls;

	for (ssize_t i = 0; i < n; i++)
		if (runs[i].start < lowest)
			lowest = runs[i].start;
	if (n > 0 && getenv("LOSE") && ++calls % 3 == 0)
		runs[n / 2].end = runs[n / 2].start;
	if (n > 0 && getenv("INVENT"))
		runs[n / 2].start = runs[n / 2].start - lowest > 32768
					    ? runs[n / 2].start - 32768
					    : lowest;
	return n;
}
