/* SPDX-License-Identifier: MIT */
/*
 * advice.c: what to do about what does not work.
 *
 * The first row that fits speaks; so what is more special stands before.
 */
#include "tool.h"

#include <errno.h>
#include <sys/prctl.h>

#define FILTERED 1u /* the process runs under a seccomp filter */
#define ANOTHER  2u /* another door to userfaultfd is open */

#define ANY      0
#define ANY_ITEM 0

#define NOT_NEEDED "no need to: one way to userfaultfd is enough, and one works"
#define BY_FILTER(call)                                                    \
	"a seccomp filter forbids " call ": use a profile that allows it " \
	"(docker run --security-opt seccomp=PROFILE.json)"

static const struct {
	size_t offset;
	int error;
	unsigned when;
	const char *text;
} rows[] = {
	{ ITEM(door_device), ANY, ANOTHER, NOT_NEEDED },
	{ ITEM(door_device), ENOENT, 0,
	  "run the container with --device /dev/userfaultfd; outside of one, "
	  "it takes Linux 6.1 with CONFIG_USERFAULTFD" },
	{ ITEM(door_device), EACCES, 0,
	  "let the program's user open it (chmod or chgrp the node, or a udev "
	  "rule): it belongs to root" },
	{ ITEM(door_device), EPERM, 0,
	  "allow it to the container's devices: run it with --device "
	  "/dev/userfaultfd" },
	{ ITEM(door_device), ANY, 0,
	  "it takes Linux 6.1 with CONFIG_USERFAULTFD" },

	{ ITEM(door_syscall), ANY, ANOTHER, NOT_NEEDED },
	{ ITEM(door_syscall), ENOSYS, FILTERED, BY_FILTER("userfaultfd") },
	{ ITEM(door_syscall), ENOSYS, 0,
	  "it takes a kernel with CONFIG_USERFAULTFD, and no valgrind" },
	{ ITEM(door_syscall), EPERM, 0,
	  "set the sysctl vm.unprivileged_userfaultfd to 1, or give the "
	  "program CAP_SYS_PTRACE" },
	{ ITEM(door_syscall), ANY, FILTERED, BY_FILTER("userfaultfd") },
	{ ITEM(door_syscall), ANY, 0,
	  "a security module (SELinux, say) may forbid it: allow it there" },

	{ ITEM(door_user), ANY, ANOTHER, NOT_NEEDED },
	{ ITEM(door_user), EPERM, FILTERED,
	  "a seccomp filter forbids userfaultfd, as in most containers: run it "
	  "with --device /dev/userfaultfd, or with a seccomp profile that "
	  "allows userfaultfd" },
	{ ITEM(door_user), ANY, FILTERED, BY_FILTER("userfaultfd") },
	{ ITEM(door_user), ENOSYS, 0,
	  "it takes a kernel with CONFIG_USERFAULTFD, and no valgrind" },
	{ ITEM(door_user), EINVAL, 0,
	  "it takes Linux 5.11; before, set the sysctl "
	  "vm.unprivileged_userfaultfd to 1" },
	{ ITEM(door_user), ANY, 0,
	  "a security module (SELinux, say) may forbid it: allow it there" },

	{ ITEM(door_pagemap), EACCES, 0,
	  "the process is not dumpable: call prctl(PR_SET_DUMPABLE, 1), or "
	  "open the first handle before it changes its user" },
	{ ITEM(door_pagemap), ENOENT, 0,
	  "mount /proc; if it is, the kernel lacks CONFIG_PROC_PAGE_MONITOR" },
	{ ITEM(door_pagemap), ANY, 0,
	  "a security module or a seccomp filter may forbid it: allow it "
	  "there" },
	{ ITEM(door_clear_refs), EACCES, 0,
	  "the process is not dumpable, or /proc is read-only: call "
	  "prctl(PR_SET_DUMPABLE, 1)" },
	{ ITEM(door_clear_refs), ENOENT, 0,
	  "mount /proc; if it is, the kernel lacks CONFIG_PROC_PAGE_MONITOR" },
	{ ITEM(door_clear_refs), ANY, 0,
	  "/proc may be read-only, as in containers: mount it to be written "
	  "to" },
	{ ITEM(door_sigsegv), ANY, 0,
	  "do not block it when the program is started" },
	{ ITEM(door_sigbus), ANY, 0,
	  "do not block it when the program is started" },

	{ ITEM(mprotect), ANY, FILTERED, BY_FILTER("mprotect") },
	{ ITEM(mprotect), ANY, 0,
	  "a security module may forbid it: allow it there" },
	{ ANY_ITEM, EPERM, FILTERED, BY_FILTER("one of its ioctls") },
	{ ANY_ITEM, EACCES, FILTERED, BY_FILTER("one of its ioctls") },
	{ ANY_ITEM, ENOSYS, FILTERED, BY_FILTER("one of its ioctls") },
	{ ITEM(pagemap_scan), ENOTTY, 0, "it takes Linux 6.7" },
	{ ITEM(pagemap_scan), ANY, 0, "it takes Linux 6.7" },
	{ ITEM(procmap_query), ENOTTY, 0,
	  "no need to: it takes Linux 6.11, and /proc/self/maps is read "
	  "instead" },
	{ ITEM(procmap_query), ANY, 0,
	  "no need to: /proc/self/maps is read instead, if it can be" },
	{ ITEM(soft_dirty_set), EOPNOTSUPP, 0,
	  "it takes a kernel with CONFIG_MEM_SOFT_DIRTY" },
	{ ITEM(discarded_page), EOPNOTSUPP, 0,
	  "it takes Linux 6.12.103; before, tell of discards by "
	  "wtrack_mark()" },
	{ ITEM(discarded_block), EOPNOTSUPP, 0,
	  "it takes Linux 6.12.103; before, tell of discards by "
	  "wtrack_mark()" },
	{ ITEM(pagemap_uffd_wp), ANY, 0, "it takes Linux 5.14" },
	{ ITEM(uffd_wp), ANY, 0,
	  "it takes Linux 5.7 on x86-64, 6.10 on arm64" },
	{ ITEM(uffd_wp_unpopulated), ANY, 0,
	  "it takes Linux 6.4 with CONFIG_PTE_MARKER_UFFD_WP" },
	{ ITEM(uffd_wp_async), ANY, 0,
	  "it takes Linux 6.7 with CONFIG_PTE_MARKER_UFFD_WP" },
	{ ITEM(uffd_wp_shmem), ANY, 0,
	  "it takes Linux 5.19 with CONFIG_PTE_MARKER_UFFD_WP" },
	{ ITEM(uffd_wp_hugetlb), ANY, 0,
	  "it takes Linux 5.19 with CONFIG_PTE_MARKER_UFFD_WP" },
	{ ITEM(uffd_sigbus), ANY, 0,
	  "it takes Linux 5.7 on x86-64, 6.10 on arm64" },
	{ ITEM(discarded_page), ANY, 0, "it takes Linux 6.7" },
	{ ITEM(discarded_block), ANY, 0, "it takes Linux 6.7" },
	{ ITEM(soft_dirty_set), ANY, 0,
	  "a security module or a seccomp filter may forbid it: allow it "
	  "there" },
};

static unsigned situation(const struct wtrack_probe *p)
{
	unsigned is = 0;

	if (prctl(PR_GET_SECCOMP) == 2)
		is |= FILTERED;
	if (!p->door_device || !p->door_syscall || !p->door_user)
		is |= ANOTHER;
	return is;
}

const char *advice_for(const struct wtrack_probe *p, const struct item *item)
{
	unsigned is = situation(p);
	int result = item_result(p, item);

	if (result >= 0)
		return NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((rows[i].offset == item->offset ||
		     rows[i].offset == ANY_ITEM) &&
		    (rows[i].error == ANY || rows[i].error == -result) &&
		    !(rows[i].when & ~is))
			return rows[i].text;
	return NULL;
}
