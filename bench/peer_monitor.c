/* SPDX-License-Identifier: MIT */
/*
 * peer_monitor.c: userfaultfd write-protection and a thread that reads the
 * faults and takes it off, written by hand.
 *
 * It inherits the writer's one processor, as the library's thread does.
 */
#include "bench.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define BATCH 16

static struct monitor {
	pthread_t thread;
	int uffd;
	int end[2]; /* a byte in it ends the thread */
	size_t page;
} monitor;

static void resolve_batch(const struct monitor *m)
{
	struct uffd_msg msg[BATCH];
	ssize_t n = read(m->uffd, msg, sizeof(msg));

	for (ssize_t i = 0; i < n / (ssize_t)sizeof(msg[0]); i++) {
		void *addr = (void *)(uintptr_t)msg[i].arg.pagefault.address;
		unsigned char *page;

		if (msg[i].event != UFFD_EVENT_PAGEFAULT)
			continue;
		page = dirtylog_note(addr);
		/* The writer would wait for ever. */
		if (!page || !uffd_release(m->uffd, page, m->page))
			bench_die("hand-monitor: a fault that is not resolved");
	}
}

static void *run(void *arg)
{
	const struct monitor *m = arg;
	struct pollfd fds[2] = { { .fd = m->uffd, .events = POLLIN },
				 { .fd = m->end[0], .events = POLLIN } };

	while (!fds[1].revents)
		if (poll(fds, 2, -1) > 0 && fds[0].revents)
			resolve_batch(m);
	return NULL;
}

static int monitor_open(struct contender *c)
{
	return uffd_open_sync(c, 0);
}

static void monitor_enter(struct contender *c, const struct span *span)
{
	sigset_t all, saved;
	int rc;

	dirtylog_enter(c->bench, span);
	monitor.uffd = c->uffd;
	monitor.page = c->bench->page;
	if (pipe(monitor.end) != 0)
		bench_die("pipe: %s", strerror(errno));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	rc = pthread_create(&monitor.thread, NULL, run, &monitor);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	if (rc != 0)
		bench_die("pthread_create: %s", strerror(rc));
}

static void monitor_leave(struct contender *c)
{
	(void)c;
	if (write(monitor.end[1], "", 1) != 1)
		bench_die("pipe: %s", strerror(errno));
	pthread_join(monitor.thread, NULL);
	close(monitor.end[0]);
	close(monitor.end[1]);
	dirtylog_leave();
}

const struct contender_ops contender_monitor = {
	.name = "hand-monitor",
	.open = monitor_open,
	.close = uffd_close,
	.enter = monitor_enter,
	.leave = monitor_leave,
	.attach = uffd_attach,
	.detach = uffd_detach,
	.collect = uffd_collect,
};
