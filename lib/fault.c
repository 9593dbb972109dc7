/* SPDX-License-Identifier: MIT */
/*
 * fault.c: the only sigaction: claims own write faults, passes others on.
 *
 * The handler runs with all signals blocked, so it is never suspended, and may
 * take the RCU read lock.  A thread's first read lock registers it with urcu-bp
 * here, in the handler.  That is right: registration takes a mutex, but always
 * with signals blocked, so the interrupted code cannot be its holder, and no
 * holder waits for this thread; its memory comes from mmap.  Two limits stay:
 * glibc allocates for thread keys from the 33rd on, so this library must be
 * loaded before so many exist; and urcu aborts if mmap fails while it grows,
 * past some 60 threads, so a thread that meets the limit of mappings in its
 * very first fault could die of it.  Threads that call this library before
 * they write are registered early.
 */
#include "fault.h"
#include "engine.h"
#include "sys.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <ucontext.h>

static struct sigaction previous;
static int installed;
static unsigned long passed;

unsigned long wt_fault_passed(void)
{
	return __atomic_load_n(&passed, __ATOMIC_RELAXED);
}

/* Armed pages can be read: only a store is ours. */
static bool is_write(const ucontext_t *uc)
{
#if defined(__x86_64__)
	return uc->uc_mcontext.gregs[REG_ERR] & 2;
#else
	(void)uc;
	return true; /* the table of ranges decides alone */
#endif
}

/* initial-exec: other models may allocate at a thread's first use. */
static __thread uint64_t retried_generation
	__attribute__((tls_model("initial-exec")));

/*
 * The page may have been un-protected between the store and this handler, by
 * an unwatch that is under way or has just ended.  Let the store try again,
 * once for each end of a transition.
 */
static bool should_retry(uintptr_t addr)
{
	uint64_t now;

	if (wt_is_moving(addr, addr + 1)) {
		wt_sys_yield();
		return true;
	}
	now = wt_generation();
	if (retried_generation == now)
		return false;
	retried_generation = now;
	return true;
}

static bool claim(const siginfo_t *si, const ucontext_t *uc)
{
	uintptr_t addr = (uintptr_t)si->si_addr;
	struct wtrack *t;
	bool done = false;

	if (si->si_code != SEGV_ACCERR || !is_write(uc))
		return false;
	wt_read_enter();
	for (t = wt_first_handle(); t && !done; t = wt_next_handle(t)) {
		const struct wt_backend *be = wt_be(t);
		struct wt_range r;

		if (be->signals && wt_table_find(&t->table, addr, &r)) {
			struct wt_span s = { r.start, r.end, r.attr, false };

			done = be->resolve(t, &s, addr);
			break;
		}
	}
	if (!done && !t)
		done = should_retry(addr);
	wt_read_leave();
	return done;
}

/* Lets the default action happen: at the retried store, or sent again. */
static void die(int sig, siginfo_t *si)
{
	struct sigaction dfl;

	memset(&dfl, 0, sizeof(dfl));
	dfl.sa_handler = SIG_DFL;
	sigaction(sig, &dfl, NULL);
	if (si->si_code <= 0)
		wt_sys_tgsigqueue(sig, si);
}

/* Calls the previous handler in the mask that it would have had. */
static void call_previous(int sig, siginfo_t *si, ucontext_t *uc)
{
	struct sigaction prev = previous;
	sigset_t mask = uc->uc_sigmask;

	for (int i = 1; i < NSIG; i++)
		if (sigismember(&prev.sa_mask, i) == 1)
			sigaddset(&mask, i);
	if (!(prev.sa_flags & SA_NODEFER))
		sigaddset(&mask, sig);
	if (prev.sa_flags & SA_RESETHAND)
		previous.sa_handler = SIG_DFL;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (prev.sa_flags & SA_SIGINFO)
		prev.sa_sigaction(sig, si, uc);
	else
		prev.sa_handler(sig);
}

static void on_fault(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	int saved = errno;
	bool ours = claim(si, uc);

	errno = saved;
	if (ours)
		return;
	__atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
	/* A fault cannot be ignored, a signal that was sent can. */
	if (previous.sa_handler == SIG_IGN && si->si_code <= 0)
		return;
	if (previous.sa_handler == SIG_IGN || previous.sa_handler == SIG_DFL)
		die(sig, si);
	else
		call_previous(sig, si, uc);
	errno = saved;
}

int wt_fault_install(void)
{
	struct sigaction sa;
	int saved = errno, rc = 0;

	if (installed)
		return 0;
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_fault;
	/* ONSTACK: hosts (Go, say) give their threads stacks that are small. */
	sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	sigfillset(&sa.sa_mask);
	if (sigaction(SIGSEGV, NULL, &previous) ||
	    sigaction(SIGSEGV, &sa, NULL))
		rc = -errno;
	else
		installed = 1;
	errno = saved;
	return rc;
}
