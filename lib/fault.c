/* SPDX-License-Identifier: MIT */
/*
 * fault.c: the only sigactions: claims own write faults, passes others on.
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

#define WT_API __attribute__((visibility("default")))

/* A signal by which write faults arrive, and who had it before. */
struct chain {
	int sig;
	int code; /* si_code of a write to armed memory */
	bool installed;
	struct sigaction previous;
};

static struct chain chains[] = {
	{ .sig = SIGSEGV, .code = SEGV_ACCERR },
	{ .sig = SIGBUS, .code = BUS_ADRERR },
};
static unsigned long passed;

static struct chain *chain_of(int sig)
{
	return sig == SIGSEGV ? &chains[0] : sig == SIGBUS ? &chains[1] : NULL;
}

unsigned long wt_fault_passed(void)
{
	return __atomic_load_n(&passed, __ATOMIC_RELAXED);
}

/* initial-exec: other models may allocate at a thread's first use. */
static __thread uint64_t retried_generation
	__attribute__((tls_model("initial-exec")));

/*
 * The page may have been un-protected between the store and this handler, by
 * an unwatch that is under way or has just ended: then there is no such range,
 * or nothing in it to resolve.  Let the store try again,
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

static bool claim(const struct chain *c, const siginfo_t *si,
		  const ucontext_t *uc)
{
	uintptr_t addr = wt_address(si->si_addr);
	bool done = false;

	if (si->si_code != c->code || !wt_fault_is_store(uc))
		return false;
	wt_read_enter();
	for (struct wtrack *t = wt_first_handle(); t; t = wt_next_handle(t)) {
		const struct wt_backend *be = wt_be(t);
		struct wt_range r;

		if (be->signal == c->sig &&
		    wt_table_find(&t->table, addr, &r)) {
			struct wt_span s = { r.start, r.end, r.attr, false };

			done = be->resolve(t, &s, addr);
			break;
		}
	}
	if (!done)
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
static void call_previous(struct chain *c, siginfo_t *si, ucontext_t *uc)
{
	struct sigaction prev = c->previous;
	sigset_t mask = uc->uc_sigmask;

	for (int i = 1; i < NSIG; i++)
		if (sigismember(&prev.sa_mask, i) == 1)
			sigaddset(&mask, i);
	if (!(prev.sa_flags & SA_NODEFER))
		sigaddset(&mask, c->sig);
	if (prev.sa_flags & SA_RESETHAND)
		c->previous.sa_handler = SIG_DFL;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	if (prev.sa_flags & SA_SIGINFO)
		prev.sa_sigaction(c->sig, si, uc);
	else
		prev.sa_handler(c->sig);
}

static void pass_on(struct chain *c, siginfo_t *si, ucontext_t *uc)
{
	bool ignored = c->previous.sa_handler == SIG_IGN;

	__atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
	/* A fault cannot be ignored, a signal that was sent can. */
	if (ignored && si->si_code <= 0)
		return;
	if (ignored || c->previous.sa_handler == SIG_DFL)
		die(c->sig, si);
	else
		call_previous(c, si, uc);
}

static void on_fault(int sig, siginfo_t *si, void *context)
{
	struct chain *c = chain_of(sig);
	int saved = errno;

	if (!claim(c, si, context)) {
		errno = saved;
		pass_on(c, si, context);
	}
	errno = saved;
}

int wt_fault_install(int sig)
{
	struct chain *c = chain_of(sig);
	struct sigaction sa;
	int saved = errno, rc = 0;

	if (c->installed)
		return 0;
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_fault;
	/* ONSTACK: hosts (Go, say) give their threads stacks that are small. */
	sa.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	sigfillset(&sa.sa_mask);
	if (sigaction(sig, NULL, &c->previous) || sigaction(sig, &sa, NULL))
		rc = -errno;
	else
		c->installed = true;
	errno = saved;
	return rc;
}

bool wt_fault_replaced(int sig)
{
	struct sigaction now;
	int saved = errno;
	bool replaced;

	replaced = sig && chain_of(sig)->installed &&
		   !sigaction(sig, NULL, &now) && now.sa_sigaction != on_fault;
	errno = saved;
	return replaced;
}

WT_API int wtrack_handle_fault(int sig, void *siginfo, void *context)
{
	const struct chain *c = chain_of(sig);
	int saved = errno;
	sigset_t mask;
	bool ours;

	if (!c || !siginfo || !context)
		return -EINVAL;
	/* The host's handler may run with signals that suspend threads. */
	wt_signals_block(&mask);
	ours = claim(c, siginfo, context);
	wt_signals_restore(&mask);
	errno = saved;
	return ours;
}
