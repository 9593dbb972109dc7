/* SPDX-License-Identifier: MIT */
/* fastpaths_protect.c: does memory that is un-protected fault once more? */
#include "fastpaths_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same number on every architecture; older headers lack it. */
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

#define STORES 64

/* No fault, or one each; a few come from elsewhere. */
static const struct fault_range none_or_each = { 0, STORES / 4, STORES,
						 STORES * 5 / 4 };

static void protect(char *mem, size_t len, int prot)
{
	if (mprotect(mem, len, prot))
		answer_refused("mprotect", -errno);
}

static long mprotect_round(int uffd)
{
	size_t page = page_bytes();
	char *mem = map_blocks(STORES * page);

	(void)uffd;
	store_pages(mem, STORES, page);
	protect(mem, STORES * page, PROT_READ);
	protect(mem, STORES * page, PROT_READ | PROT_WRITE);
	return faults_of_stores(mem, STORES, page);
}

void ask_mprotect_upgrade(const struct wtrack_probe *p)
{
	if (p->mprotect < 0)
		answer_refused("mprotect", p->mprotect);
	answer_faults(least_faults(mprotect_round, -1), STORES, &none_or_each);
}

/* Of what was not un-protected, the store would raise SIGBUS. */
static long uffd_round(int uffd)
{
	size_t page = page_bytes();
	char *mem = map_blocks(STORES * page);

	store_pages(mem, STORES, page);
	uffd_register(uffd, mem, STORES * page);
	uffd_protect(uffd, mem, STORES * page, true);
	uffd_protect(uffd, mem, STORES * page, false);
	return faults_of_stores(mem, STORES, page);
}

void ask_uffd_upgrade(const struct wtrack_probe *p)
{
	answer_faults(least_faults(uffd_round, uffd_sync(p)), STORES,
		      &none_or_each);
}

/* Stores as read(2) does: 0 or a negative errno. */
static int store_by_kernel(char *mem)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) || write(fds[1], "x", 1) != 1)
		answer_refused("pipe", -errno);
	return read(fds[0], mem, 1) == 1 ? 0 : -errno;
}

/*
 * Two mappings, the second sealed: who looks for seals first changes neither,
 * who looks mapping by mapping has changed the first by then.
 */
void ask_seal_by_mapping(const struct wtrack_probe *p)
{
	size_t page = page_bytes();
	char *mem = map_blocks(2 * page);
	int rc;

	(void)p;
	if (syscall(SYS_mseal, mem + page, page, 0))
		answer_refused("mseal", -errno);
	if (!mprotect(mem, 2 * page, PROT_READ))
		answer_unknown("mprotect of sealed memory works");
	if (errno != EPERM)
		answer_refused("mprotect", -errno);
	rc = store_by_kernel(mem);
	if (rc && rc != -EFAULT)
		answer_refused("read", rc);
	answer(rc, rc ? "the mapping before a sealed one is changed"
		      : "nothing before a sealed mapping is changed");
}
