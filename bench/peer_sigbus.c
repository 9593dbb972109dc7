/* SPDX-License-Identifier: MIT */
/*
 * peer_sigbus.c: userfaultfd write-protection and a SIGBUS handler that takes
 * it off in the faulting thread, written by hand.
 *
 * As in peer_mprotect.c, the handler is the process's only one meanwhile.
 */
#include "bench.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <string.h>

static struct sigaction previous;
static int fd;
static size_t page_size;

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	unsigned char *page = dirtylog_note(info->si_addr);

	(void)context;
	/* The store is tried again and then kills the process. */
	if (!page || !uffd_release(fd, page, page_size))
		signal(sig, SIG_DFL);
	errno = saved;
}

static int sigbus_open(struct contender *c)
{
	return uffd_open_sync(c, UFFD_FEATURE_SIGBUS);
}

static void sigbus_enter(struct contender *c, const struct span *span)
{
	struct sigaction act = { .sa_flags = SA_SIGINFO | SA_ONSTACK };

	dirtylog_enter(c->bench, span);
	fd = c->uffd;
	page_size = c->bench->page;
	act.sa_sigaction = on_sigbus;
	sigemptyset(&act.sa_mask);
	if (sigaction(SIGBUS, &act, &previous) != 0)
		bench_die("sigaction: %s", strerror(errno));
}

static void sigbus_leave(struct contender *c)
{
	(void)c;
	sigaction(SIGBUS, &previous, NULL);
	dirtylog_leave();
}

const struct contender_ops contender_sigbus = {
	.name = "hand-sigbus",
	.open = sigbus_open,
	.close = uffd_close,
	.enter = sigbus_enter,
	.leave = sigbus_leave,
	.attach = uffd_attach,
	.detach = uffd_detach,
	.collect = uffd_collect,
};
