/* SPDX-License-Identifier: MIT */
/* probe.c: tells which ways into the kernel are open, and what open takes. */
#include "probe.h"
#include "engine.h"
#include "fork.h"
#include "inject.h"
#include "options.h"
#include "selftest.h"
#include "sys.h"
#include "uapi.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#define WT_API __attribute__((visibility("default")))

int wt_probe_uffd(const struct wtrack_probe *p, uint64_t features)
{
	if (!p->door_user)
		return wt_uffd_handshake(
			wt_sys_userfaultfd(WT_UFFD_USER_MODE_ONLY), features);
	if (!p->door_syscall)
		return wt_uffd_handshake(wt_sys_userfaultfd(0), features);
	return wt_uffd_handshake(wt_uffd_from_device(), features);
}

/* 0, or the negative errno that stands in place of the descriptor. */
static int close_again(int fd)
{
	if (fd < 0)
		return fd;
	wt_sys_close(fd);
	return 0;
}

void wt_probe_doors(struct wtrack_probe *p)
{
	p->door_device =
		close_again(wt_uffd_handshake(wt_uffd_from_device(), 0));
	p->door_syscall =
		close_again(wt_uffd_handshake(wt_sys_userfaultfd(0), 0));
	p->door_user = close_again(wt_uffd_handshake(
		wt_sys_userfaultfd(WT_UFFD_USER_MODE_ONLY), 0));
	p->door_pagemap =
		close_again(wt_sys_open("/proc/self/pagemap", O_RDONLY));
	/* Opening it is harmless; every write to it concerns the process. */
	p->door_clear_refs =
		close_again(wt_sys_open("/proc/self/clear_refs", O_WRONLY));
}

/*
 * A signal that a fault raises while it is blocked kills, handler or not.  To
 * install one only to see whether that works would race with other threads.
 */
static int door_of_signal(int sig)
{
	struct sigaction now;
	sigset_t mask;

	if (sigaction(sig, NULL, &now))
		return -errno;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	return sigismember(&mask, sig) ? -EBUSY : 0;
}

_Static_assert(WT_N_BACKENDS <= WTRACK_PROBE_BACKENDS,
	       "there is room for every backend");

/* What is taken only on request is not tried, but a result is told. */
static void try_backends(struct wtrack_probe *p)
{
	const struct wtrack_options plain = WTRACK_OPTIONS_INIT;

	for (size_t i = 0; i < WT_N_BACKENDS; i++) {
		const struct wt_backend *be = wt_backends[i];
		struct wtrack_probe_backend *b = &p->backends[i];
		struct wt_trial trial;

		if (wt_is_eligible(be, &plain))
			trial = *wt_trial_of(be, &plain);
		else
			trial = wt_trial_result(be);
		b->name = be->name;
		b->result = trial.tried || trial.result ? trial.result
							: WTRACK_NOT_TRIED;
		b->caps = b->result ? 0 : trial.caps;
	}
}

static int pick(struct wtrack_probe *p)
{
	const struct wt_backend *be;
	struct wtrack_options o;
	sigset_t saved;
	int rc = wt_options_read(NULL, &o);

	if (rc)
		return rc;
	wt_fork_check();
	wt_lock(&saved);
	rc = wt_inject_init();
	if (!rc)
		rc = wt_fork_init();
	if (!rc) {
		p->open = wt_pick_locked(&o, &be, &p->caps);
		p->backend = p->open ? NULL : be->name;
		try_backends(p);
	}
	wt_unlock(&saved);
	return rc;
}

WT_API int wtrack_probe(struct wtrack_probe *probe)
{
	struct wtrack_probe p;
	int saved = errno, rc;

	if (!probe || probe->size <= sizeof(probe->size))
		return -EINVAL;
	memset(&p, 0, sizeof(p));
	p.size = sizeof(p);
	p.door_sigsegv = door_of_signal(SIGSEGV);
	p.door_sigbus = door_of_signal(SIGBUS);
	rc = pick(&p);
	if (!rc) {
		wt_probe_doors(&p);
		wt_probe_kernel(&p);
		rc = wt_struct_give(probe, &p);
	}
	errno = saved;
	return rc;
}
