/* SPDX-License-Identifier: MIT */
/*
 * backend_monitor.c: synchronous write-protect; a thread resolves the faults.
 *
 * The only room with a thread of its own, and so only taken when asked for.
 * Faults of the kernel, too, wait for it where the door gave that right, so
 * that read(2) into watched memory works and is seen.
 *
 * The thread takes no lock, and no signal: nobody can suspend it. [G4]
 */
#include "sys.h"
#include "uapi.h"
#include "wp.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

/* Faults taken by one read: more threads than this seldom fault at once. */
#define BATCH 16

/* Enough for the thread's frames, also under sanitizers. */
#define STACK ((size_t)256 << 10)

static struct wt_wp wp = {
	.uffd = WT_UFFD_NONE,
	.pagemap = WT_FD_NONE,
	.features = 0,
	.doors = WT_DOORS_NOT_TRIED,
};

static pthread_t thread;
static bool running;                 /* in this process */
static bool ending;                  /* atomic */
static int end_pipe[2] = { -1, -1 }; /* a byte in it wakes the thread */

/*
 * Odd while faults are in hand: one that was read may be resolved after its
 * writer was stopped.  A clearing collection lets it be resolved first, or the
 * page would be dirty without a store.  SEQ_CST: read(2) and un-protecting come
 * between the two changes.
 */
static uint64_t hands;

static void take_in_hand(void)
{
	__atomic_fetch_add(&hands, 1, __ATOMIC_SEQ_CST);
}

static void put_down(void)
{
	__atomic_fetch_add(&hands, 1, __ATOMIC_SEQ_CST);
}

/* Resolves a fault in a range that is found; a negative errno, or 0. */
static int resolve_found(uintptr_t addr)
{
	struct wt_range r;
	int rc = -ENOENT;

	wt_read_enter();
	for (struct wtrack *t = wt_first_handle(); t; t = wt_next_handle(t)) {
		if (wt_be(t)->room == &wp &&
		    wt_table_find(&t->table, addr, &r)) {
			struct wt_span s = { r.start, r.end, r.attr, true };

			/* Before: the writer may look when it goes on. */
			wt_count(&t->count.faults, 1);
			rc = wt_wp_resolve(t, &s, addr);
			break;
		}
	}
	wt_read_leave();
	return rc;
}

/*
 * Where no range is found, its watch may be under way: the writer waits for the
 * end of it, because its store must be noted.  After an unwatch, which has
 * woken the writer, there is nothing to resolve.
 */
static void resolve(uintptr_t addr)
{
	uint64_t generation;

	do {
		generation = wt_generation();
		if (!resolve_found(addr))
			return;
		/* Who watches may be stopped: nobody must wait for this. [G4]
		 */
		put_down();
		wt_sys_yield();
		take_in_hand();
	} while (wt_is_moving(addr, addr + 1) || wt_generation() != generation);
	addr &= ~(wt_page_size() - 1);
	wt_uffd_wake(&wp.uffd, addr, addr + wt_page_size());
}

static void resolve_batch(void)
{
	struct wt_uffd_msg msg[BATCH];
	ssize_t n;

	/* A daemon may have closed it, and opened another file instead. */
	if (!wt_fd_is_ours(&wp.uffd.fd))
		return;
	take_in_hand();
	n = wt_sys_read(wp.uffd.fd.fd, msg, sizeof(msg));
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(msg[0]); i++)
		if (msg[i].event == WT_UFFD_EVENT_PAGEFAULT)
			resolve(msg[i].address);
	put_down();
}

static void *monitor(void *unused)
{
	struct pollfd fds[2] = { { wp.uffd.fd.fd, POLLIN, 0 },
				 { end_pipe[0], POLLIN, 0 } };

	(void)unused;
	while (!__atomic_load_n(&ending, __ATOMIC_ACQUIRE) &&
	       !(fds[0].revents & ~POLLIN)) {
		resolve_batch();
		/* Where it may not wait it goes round: writers wait for it. */
		if (wt_sys_poll(fds, 2) < 0)
			wt_sys_yield();
	}
	return NULL;
}

static int start_thread(void)
{
	pthread_attr_t attr;
	sigset_t all, saved;
	int rc = wt_sys_pipe(end_pipe);

	if (rc)
		return rc;
	ending = false;
	rc = pthread_attr_init(&attr);
	if (!rc)
		rc = pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	if (!rc)
		rc = pthread_create(&thread, &attr, monitor, NULL);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	pthread_attr_destroy(&attr);
	running = !rc;
	return -rc;
}

static void close_all(void)
{
	wt_sys_close(end_pipe[0]);
	wt_sys_close(end_pipe[1]);
	end_pipe[0] = end_pipe[1] = -1;
	wt_wp_close(&wp);
}

static int monitor_start(void)
{
	int saved = errno, rc = wt_wp_open(&wp);

	if (!rc)
		rc = start_thread();
	if (rc)
		close_all();
	errno = saved;
	return rc;
}

static void monitor_stop(void)
{
	if (running) {
		__atomic_store_n(&ending, true, __ATOMIC_RELEASE);
		wt_sys_write(end_pipe[1], "", 1);
		pthread_join(thread, NULL);
		running = false;
	}
	close_all();
}

/*
 * The thread is the parent's.  After a bare clone, libc's own locks are as some
 * thread of the parent left them: then no other is started.
 */
static int monitor_revive(bool forked)
{
	running = false;
	hands = 0;
	wt_announced_reset(&wp.announced);
	close_all();
	return forked ? monitor_start() : -EOPNOTSUPP;
}

static void monitor_collect(struct wtrack *t, const struct wt_span *s,
			    uintptr_t *at, struct wt_sink *sink, unsigned flags)
{
	uint64_t now = __atomic_load_n(&hands, __ATOMIC_SEQ_CST);

	while ((flags & (WTRACK_CLEAR | WT_LOOK)) && (now & 1) &&
	       __atomic_load_n(&hands, __ATOMIC_SEQ_CST) == now)
		wt_sys_yield();
	wt_wp_collect(t, s, at, sink, flags);
}

const struct wt_backend wt_backend_monitor = {
	.name = "monitor",
	.caps = WTRACK_CAP_PRECISE | WTRACK_CAP_KERNEL_WRITES |
		WTRACK_CAP_DISCARD | WTRACK_CAP_LOSS | WTRACK_CAP_NO_SIGNAL |
		WTRACK_CAP_PROTECT | WTRACK_CAP_CONCURRENT,
	.attr_mask = ~(uint64_t)WT_PROT_MASK,
	.grains = true,
	.thread = true,
	.signal = 0,
	.first_pages = 0,
	.room = &wp,
	.start = monitor_start,
	.stop = monitor_stop,
	.enroll = wt_wp_enroll,
	.withdraw = wt_wp_withdraw,
	.collect = monitor_collect,
	.populated = wt_wp_populated,
	.arm = wt_wp_arm,
	.mark = wt_wp_mark,
	.inspect = wt_wp_inspect,
	.revive = monitor_revive,
	.adopt = wt_wp_adopt,
	.resolve = NULL,
};
