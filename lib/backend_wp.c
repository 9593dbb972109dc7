/* SPDX-License-Identifier: MIT */
/* backend_wp.c: synchronous write-protect; SIGBUS in the faulting thread. */
#include "pagemap.h"
#include "uapi.h"
#include "wp.h"

/*
 * A SIGBUS at one address so many times in a row may be the program's own, of
 * a file that was cut off: then it is worth a look.
 */
#define SAME_ADDRESS 16

static struct wt_wp wp = {
	.uffd = WT_UFFD_NONE,
	.pagemap = WT_FD_NONE,
	.features = WT_FEATURE_SIGBUS,
	.doors = WT_DOORS_NOT_TRIED,
};

static int wp_start(void)
{
	return wt_wp_open(&wp);
}

static void wp_stop(void)
{
	wt_wp_close(&wp);
}

static int wp_revive(bool forked)
{
	(void)forked;
	wt_announced_reset(&wp.announced);
	wp_stop();
	return wp_start();
}

/* initial-exec: other models may allocate at a thread's first use. */
static __thread struct {
	uintptr_t addr;
	unsigned times;
} last __attribute__((tls_model("initial-exec")));

/* Whether this thread makes no progress at a page that is not armed. */
static bool is_stuck(uintptr_t addr)
{
	uint64_t entry;

	if (last.addr != addr) {
		last.addr = addr;
		last.times = 0;
	}
	if (++last.times < SAME_ADDRESS)
		return false;
	last.times = 0;
	return wt_pagemap_read(&wp.pagemap, addr, &entry, 1) == 1 &&
	       !(entry & WT_ENTRY_UFFD_WP);
}

static bool wp_resolve(struct wtrack *t, const struct wt_span *s,
		       uintptr_t addr)
{
	if (is_stuck(addr) || wt_wp_resolve(t, s, addr))
		return false;
	wt_count(&t->count.faults, 1);
	return true;
}

const struct wt_backend wt_backend_wp = {
	.name = "wp",
	.caps = WTRACK_CAP_PRECISE | WTRACK_CAP_DISCARD | WTRACK_CAP_LOSS |
		WTRACK_CAP_PROTECT | WTRACK_CAP_CONCURRENT,
	.attr_mask = ~(uint64_t)WT_PROT_MASK,
	.grains = true,
	.signal = SIGBUS,
	.first_pages = 0,
	.room = &wp,
	.start = wp_start,
	.stop = wp_stop,
	.enroll = wt_wp_enroll,
	.withdraw = wt_wp_withdraw,
	.collect = wt_wp_collect,
	.populated = wt_wp_populated,
	.arm = wt_wp_arm,
	.mark = wt_wp_mark,
	.inspect = wt_wp_inspect,
	.revive = wp_revive,
	.adopt = wt_wp_adopt,
	.resolve = wp_resolve,
};
