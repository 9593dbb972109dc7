/* SPDX-License-Identifier: MIT */
/*
 * peer_libsigsegv.c: read-only pages and libsigsegv's global fault handler.
 *
 * libsigsegv forgets the handler that it replaces, so it is kept here and put
 * back when the rounds are over.  A build without it cannot be opened.
 */
#include "bench.h"

#include <errno.h>

#ifdef HAVE_LIBSIGSEGV
#include <sigsegv.h>

#include <signal.h>

static struct sigaction previous;

static int on_fault(void *addr, int serious)
{
	(void)serious;
	return dirtylog_fault(addr);
}

static int segv_open(struct contender *c)
{
	(void)c;
	return 0;
}

static void segv_enter(struct contender *c, const struct span *span)
{
	dirtylog_enter(c->bench, span);
	sigaction(SIGSEGV, NULL, &previous);
	if (sigsegv_install_handler(on_fault) != 0)
		bench_die("libsigsegv: no handler");
}

static void segv_leave(struct contender *c)
{
	(void)c;
	sigsegv_deinstall_handler();
	sigaction(SIGSEGV, &previous, NULL);
	dirtylog_leave();
}

const struct contender_ops contender_libsigsegv = {
	.name = "libsigsegv",
	.open = segv_open,
	.enter = segv_enter,
	.leave = segv_leave,
	.attach = dirtylog_attach,
	.detach = dirtylog_detach,
	.collect = dirtylog_collect,
};
#else
static int segv_open(struct contender *c)
{
	(void)c;
	return -ENOSYS;
}

const struct contender_ops contender_libsigsegv = {
	.name = "libsigsegv",
	.open = segv_open,
};
#endif
