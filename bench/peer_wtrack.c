/* SPDX-License-Identifier: MIT */
/*
 * peer_wtrack.c: the library as a contender, through its public interface.
 */
#include "bench.h"

#include <wtrack.h>

#include <string.h>

_Static_assert(sizeof(struct wtrack_run) == 3 * sizeof(uint64_t),
	       "both sides fill arrays of one size");

static int lib_open(struct contender *c)
{
	struct wtrack_options opts = WTRACK_OPTIONS_INIT;

	opts.backend = c->backend;
	return wtrack_open(&opts, &c->handle);
}

static void lib_close(struct contender *c)
{
	wtrack_close(c->handle);
	c->handle = NULL;
}

static void lib_attach(struct contender *c, unsigned char *addr, size_t len)
{
	int rc = wtrack_watch(c->handle, addr, len, c->watch);

	if (rc != 0)
		bench_die("wtrack_watch[%s]: %s", c->backend, strerror(-rc));
}

static void lib_detach(struct contender *c, unsigned char *addr, size_t len)
{
	int rc = wtrack_unwatch(c->handle, addr, len);

	if (rc != 0)
		bench_die("wtrack_unwatch[%s]: %s", c->backend, strerror(-rc));
}

static size_t lib_collect(struct contender *c, const struct span *span,
			  bool clear)
{
	struct wtrack_run *runs = (struct wtrack_run *)(void *)runs_buffer;
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	unsigned flags = WTRACK_GET | (clear ? WTRACK_CLEAR : 0);
	size_t bytes = 0;
	ssize_t n;

	(void)span;
	do {
		n = wtrack_collect(c->handle, &at, runs, RUNS_MAX, flags);
		if (n < 0)
			bench_die("wtrack_collect[%s]: %s", c->backend,
				  strerror((int)-n));
		for (ssize_t i = 0; i < n; i++)
			bytes += runs[i].end - runs[i].start;
	} while ((size_t)n == RUNS_MAX);
	return bytes / c->bench->page;
}

const struct contender_ops contender_wtrack = {
	.name = "wtrack",
	.open = lib_open,
	.close = lib_close,
	.attach = lib_attach,
	.detach = lib_detach,
	.collect = lib_collect,
};
