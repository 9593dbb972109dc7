/* SPDX-License-Identifier: MIT */
/*
 * case_resolve.c: the first store to an armed page, by who has to release it:
 * the kernel by itself (async), or the handler of a signal: SIGBUS of a
 * synchronous userfaultfd, SIGSEGV of mprotect.  None needs PAGEMAP_SCAN.
 *
 * The pages are stored to in turn, so that mprotect never needs more than two
 * mappings: it has no cheaper case.
 */
#include "kbench.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define STRAY_FAULTS 8

enum {
	BY_KERNEL,
	BY_SIGBUS,
	BY_SIGSEGV
};

/* Whose memory the handler is for. */
static struct trial *handled;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	unsigned char *page =
		(unsigned char *)((uintptr_t)info->si_addr & -PAGE);

	(void)context;
	if (page < handled->base || page >= handled->base + handled->bytes)
		die("signal %d of a page that is not tracked", sig);
	handled->signals++;
	if (sig == SIGBUS)
		arm_part(handled, page, PAGE, false);
	else
		protect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void handle(int sig, bool on)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO };

	if (on)
		action.sa_sigaction = on_fault;
	else
		action.sa_handler = SIG_DFL;
	if (sigaction(sig, &action, NULL) != 0)
		die("sigaction: %s", strerror(errno));
}

static const char *set_up_async(struct trial *t)
{
	map_pages(t);
	return track_async(t);
}

static const char *set_up_sigbus(struct trial *t)
{
	handled = t;
	map_pages(t);
	handle(SIGBUS, true);
	return track_sync(t);
}

static const char *set_up_sigsegv(struct trial *t)
{
	handled = t;
	map_pages(t);
	handle(SIGSEGV, true);
	return NULL;
}

static void prepare(struct trial *t)
{
	t->units = t->bytes / PAGE;
	if (t->kcase->way == BY_SIGSEGV)
		protect(t->base, t->bytes, PROT_READ);
	else
		arm(t, true);
}

static void run(struct trial *t)
{
	write_every(t, PAGE);
}

/* Each page takes its signal, if any, and on some kernels one more fault. */
static void check(struct trial *t)
{
	size_t signals = t->kcase->way == BY_KERNEL ? 0 : t->units;

	if (t->signals != signals)
		die("%zu signals at %zu pages", t->signals, t->units);
	if (t->counters.faults < t->units ||
	    t->counters.faults > 2 * t->units + STRAY_FAULTS)
		die("%llu faults at %zu pages",
		    (unsigned long long)t->counters.faults, t->units);
}

static void tear_down(struct trial *t)
{
	handle(SIGBUS, false);
	handle(SIGSEGV, false);
	untrack(t);
}

static const struct steps async_steps = {
	.set_up = set_up_async,
	.prepare = prepare,
	.run = run,
	.check = check,
	.tear_down = untrack,
};

static const struct steps sigbus_steps = {
	.set_up = set_up_sigbus,
	.prepare = prepare,
	.run = run,
	.check = check,
	.tear_down = tear_down,
};

static const struct steps sigsegv_steps = {
	.set_up = set_up_sigsegv,
	.prepare = prepare,
	.run = run,
	.check = check,
	.tear_down = tear_down,
};

static const struct kcase cases[] = {
	{ ROW("fault.async", async, 16 * MIB), .way = BY_KERNEL },
	{ ROW("fault.sigbus", sigbus, 16 * MIB), .way = BY_SIGBUS },
	{ ROW("fault.sigsegv", sigsegv, 16 * MIB), .way = BY_SIGSEGV },
};

const struct family family_resolve = FAMILY(cases);
