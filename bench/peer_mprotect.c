/* SPDX-License-Identifier: MIT */
/*
 * peer_mprotect.c: read-only pages and a SIGSEGV handler, written by hand.
 *
 * The handler is the process's only one while its rounds run: it neither
 * chains nor looks anything up but its one span.
 */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static struct sigaction previous;

static void on_segv(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	/* The store is tried again and then kills the process. */
	if (!dirtylog_fault(info->si_addr))
		signal(sig, SIG_DFL);
	errno = saved;
}

static int hand_open(struct contender *c)
{
	(void)c;
	return 0;
}

static void hand_enter(struct contender *c, const struct span *span)
{
	struct sigaction act = { .sa_flags = SA_SIGINFO | SA_ONSTACK };

	dirtylog_enter(c->bench, span);
	act.sa_sigaction = on_segv;
	sigemptyset(&act.sa_mask);
	if (sigaction(SIGSEGV, &act, &previous) != 0)
		bench_die("sigaction: %s", strerror(errno));
}

static void hand_leave(struct contender *c)
{
	(void)c;
	sigaction(SIGSEGV, &previous, NULL);
	dirtylog_leave();
}

const struct contender_ops contender_mprotect = {
	.name = "handwritten",
	.open = hand_open,
	.enter = hand_enter,
	.leave = hand_leave,
	.attach = dirtylog_attach,
	.detach = dirtylog_detach,
	.collect = dirtylog_collect,
};
