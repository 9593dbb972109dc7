/* SPDX-License-Identifier: MIT */
/* items.c: what is told of a probe, and by which names. */
#include "tool.h"

#include <stdio.h>
#include <string.h>

const struct item items_doors[] = {
	{ "device", "/dev/userfaultfd", ITEM(door_device) },
	{ "syscall", "userfaultfd(2), all rights", ITEM(door_syscall) },
	{ "user", "userfaultfd(2), user mode only", ITEM(door_user) },
	{ "pagemap", "/proc/self/pagemap", ITEM(door_pagemap) },
	{ "clear_refs", "/proc/self/clear_refs", ITEM(door_clear_refs) },
	{ "sigsegv", "SIGSEGV", ITEM(door_sigsegv) },
	{ "sigbus", "SIGBUS", ITEM(door_sigbus) },
	{ NULL, NULL, 0 },
};

const struct item items_kernel[] = {
	{ "uffd_wp", "userfaultfd write protection", ITEM(uffd_wp) },
	{ "uffd_wp_unpopulated", "  of pages not there yet",
	  ITEM(uffd_wp_unpopulated) },
	{ "uffd_wp_async", "  resolved by the kernel", ITEM(uffd_wp_async) },
	{ "uffd_wp_shmem", "  of shared memory", ITEM(uffd_wp_shmem) },
	{ "uffd_wp_hugetlb", "  of huge pages", ITEM(uffd_wp_hugetlb) },
	{ "uffd_sigbus", "  told by SIGBUS", ITEM(uffd_sigbus) },
	{ "pagemap_scan", "PAGEMAP_SCAN", ITEM(pagemap_scan) },
	{ "pagemap_uffd_wp", "pagemap shows protection",
	  ITEM(pagemap_uffd_wp) },
	{ "discarded_page", "discarded pages read written",
	  ITEM(discarded_page) },
	{ "discarded_block", "  without a page table, too",
	  ITEM(discarded_block) },
	{ "procmap_query", "PROCMAP_QUERY", ITEM(procmap_query) },
	{ "soft_dirty_set", "soft-dirty bits are set", ITEM(soft_dirty_set) },
	{ "soft_dirty_clear", "  and cleared", ITEM(soft_dirty_clear) },
	{ "mprotect", "mprotect(2)", ITEM(mprotect) },
	{ NULL, NULL, 0 },
};

const char *const cap_names[] = { "precise", "kernel-writes", "discard",
				  "loss",    "no-signal",     "files",
				  "protect", "concurrent",    NULL };

const char *const cap_lacks[] = {
	"every watched page is always reported",
	"system calls that store into watched memory fail with EFAULT, unless "
	"announced by wtrack_prepare_write()",
	"memory dropped with MADV_DONTNEED may read clean: tell it by "
	"wtrack_mark()",
	"a mapping that was replaced is not noticed: unwatch it before",
	"a signal handler is installed",
	"mappings of regular files cannot be watched",
	"the program must not change the protection of watched memory by "
	"mprotect(2)",
	"clears only while no other thread runs: WTRACK_STOPPED",
	NULL,
};

int item_result(const struct wtrack_probe *p, const struct item *item)
{
	int result;

	memcpy(&result, (const char *)p + item->offset, sizeof(result));
	return result;
}

const char *errno_name(int error)
{
	static char number[32];
	const char *name = NULL;

#ifdef HAVE_STRERRORNAME_NP
	name = strerrorname_np(-error);
#endif
	if (!name) {
		snprintf(number, sizeof(number), "errno %d", -error);
		name = number;
	}
	return name;
}

enum grade grade_of(const struct wtrack_probe *p)
{
	const uint64_t full = WTRACK_CAP_PRECISE | WTRACK_CAP_KERNEL_WRITES |
			      WTRACK_CAP_NO_SIGNAL;

	if (p->open || !(p->caps & WTRACK_CAP_PRECISE))
		return GRADE_NOTHING;
	return (p->caps & full) == full ? GRADE_FULL : GRADE_FALLBACK;
}
