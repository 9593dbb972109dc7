/* SPDX-License-Identifier: MIT */
/*
 * unit_probe_refused.c: wtrack_probe() blames exactly what does not work.
 *
 * Each door and each behaviour is taken away at the kernel entries, and all
 * the others must read as they did.
 */
#include "support.h"

#include "sys.h"
#include "uapi.h"

#include <stdio.h>
#include <string.h>

static struct wtrack_probe probe_now(void)
{
	struct wtrack_probe p = { .size = sizeof(p) };

	assert_returns(0, wtrack_probe(&p));
	return p;
}

/* ---- one thing taken away ---- */

static const struct refusal *refused;

/* What a refused entry looks like, and what then reads which way. */
#define P(member)       offsetof(struct wtrack_probe, member)
#define AN_IOCTL(r)     .id = WT_SYS_IOCTL, .request = (r)
#define BY_FEATURE(bit) AN_IOCTL(WT_UFFDIO_API), .feature = (bit)
static const struct refusal {
	enum wt_sys id;
	const char *path;
	unsigned long request;
	uint64_t feature; /* of an UFFDIO_API; or those of a PAGEMAP_SCAN */
	size_t fails[6];
	size_t not_tried[6];
} refusals[] = {
	{ .id = WT_SYS_OPEN,
	  .path = "/dev/userfaultfd",
	  .fails = { P(door_device) } },
	{ .id = WT_SYS_USERFAULTFD,
	  .fails = { P(door_syscall), P(door_user) } },
	{ .id = WT_SYS_OPEN,
	  .path = "/proc/self/pagemap",
	  .fails = { P(door_pagemap) },
	  .not_tried = { P(pagemap_scan), P(pagemap_uffd_wp), P(discarded_page),
			 P(discarded_block), P(soft_dirty_set) } },
	{ .id = WT_SYS_OPEN,
	  .path = "/proc/self/clear_refs",
	  .fails = { P(door_clear_refs) } },
	{ .id = WT_SYS_OPEN,
	  .path = "/proc/self/maps",
	  .fails = { P(procmap_query) } },
	{ BY_FEATURE(WT_FEATURE_WP_UNPOP),
	  .fails = { P(uffd_wp_unpopulated) } },
	{ BY_FEATURE(WT_FEATURE_WP_ASYNC),
	  .fails = { P(uffd_wp_async), P(discarded_page),
		     P(discarded_block) } },
	{ BY_FEATURE(WT_FEATURE_WP_HUGE_SHM),
	  .fails = { P(uffd_wp_shmem), P(uffd_wp_hugetlb) } },
	{ BY_FEATURE(WT_FEATURE_SIGBUS),
	  .fails = { P(uffd_sigbus), P(uffd_wp_unpopulated) } },
	{ AN_IOCTL(WT_PROCMAP_QUERY), .fails = { P(procmap_query) } },
	{ AN_IOCTL(WT_PAGEMAP_SCAN), .feature = WT_PAGE_IS_PRESENT,
	  .fails = { P(pagemap_scan) } },
	{ AN_IOCTL(WT_PAGEMAP_SCAN), .feature = WT_PAGE_IS_WRITTEN,
	  .fails = { P(discarded_page), P(discarded_block) } },
	{ .id = WT_SYS_MPROTECT, .fails = { P(mprotect) } },
	{ .id = WT_SYS_PREAD,
	  .fails = { P(pagemap_uffd_wp), P(soft_dirty_set) } },
};

static bool refuse(enum wt_sys id, const long args[6], long *result)
{
	const struct refusal *r = refused;

	if (id != r->id)
		return false;
	if (r->path && strcmp((const char *)args[1], r->path) != 0)
		return false;
	if (r->request && (unsigned long)args[1] != r->request)
		return false;
	if (r->feature && r->request == WT_UFFDIO_API) {
		const struct wt_uffdio_api *api = (const void *)args[2];

		if (!(api->features & r->feature))
			return false;
	} else if (r->feature) {
		const struct wt_pm_scan_arg *arg = (const void *)args[2];

		if (arg->category_mask != r->feature)
			return false;
	}
	*result = -ENXIO;
	return true;
}

static bool is_among(size_t member, const size_t members[6])
{
	for (int i = 0; i < 6 && members[i]; i++)
		if (members[i] == member)
			return true;
	return false;
}

static int at(const struct wtrack_probe *p, size_t member)
{
	int value;

	memcpy(&value, (const char *)p + member, sizeof(value));
	return value;
}

static void a_refusal_is_blamed_on_what_was_refused(void **state)
{
	struct wtrack_probe open = probe_now();
	size_t first = P(door_device), end = P(backends);

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct wtrack_probe p;

		refused = &refusals[i];
		at_the_door(refuse);
		p = probe_now();
		at_the_door(NULL);
		for (size_t m = first; m < end; m += sizeof(int)) {
			int should = at(&open, m);

			/* What did not work here stays as it was. */
			if (is_among(m, refused->fails) && should <= 0)
				should = -ENXIO;
			if (is_among(m, refused->not_tried))
				should = WTRACK_NOT_TRIED;
			if (at(&p, m) != should)
				printf("# refusal %zu, member at %zu\n", i, m);
			if (should < 0 && at(&open, m) < 0)
				assert_true(at(&p, m) < 0);
			else
				assert_int_equal(at(&p, m), should);
		}
	}
}

static bool refuse_userfaultfd(enum wt_sys id, const long args[6], long *result)
{
	if (id != WT_SYS_USERFAULTFD &&
	    (id != WT_SYS_OPEN ||
	     strcmp((const char *)args[1], "/dev/userfaultfd") != 0))
		return false;
	*result = -EPERM;
	return true;
}

static void without_a_userfaultfd_what_needs_one_is_not_tried(void **state)
{
	struct wtrack_probe p;

	(void)state;
	at_the_door(refuse_userfaultfd);
	p = probe_now();
	at_the_door(NULL);
	assert_int_equal(p.door_device, -EPERM);
	assert_int_equal(p.door_syscall, -EPERM);
	assert_int_equal(p.door_user, -EPERM);
	assert_int_equal(p.uffd_wp, WTRACK_NOT_TRIED);
	assert_int_equal(p.uffd_sigbus, WTRACK_NOT_TRIED);
	assert_int_equal(p.discarded_page, WTRACK_NOT_TRIED);
	assert_int_equal(p.mprotect, 0);
}

/* ---- a kernel that accepts everything and does nothing ---- */

static bool pretend(enum wt_sys id, const long args[6], long *result)
{
	*result = 0;
	if (id == WT_SYS_MPROTECT)
		return true;
	if (id == WT_SYS_PREAD) {
		memset((void *)args[1], 0, (size_t)args[2]);
		*result = args[2];
		return true;
	}
	return id == WT_SYS_IOCTL &&
	       ((unsigned long)args[1] == WT_UFFDIO_WRITEPROTECT ||
		(unsigned long)args[1] == WT_PAGEMAP_SCAN ||
		(unsigned long)args[1] == WT_PROCMAP_QUERY);
}

static void a_kernel_that_only_pretends_is_found_out(void **state)
{
	struct wtrack_probe p;

	(void)state;
	probe_now(); /* the backends' self-tests, which fail likewise */
	at_the_door(pretend);
	p = probe_now();
	at_the_door(NULL);
	assert_int_equal(p.uffd_wp_unpopulated, -EOPNOTSUPP);
	assert_int_equal(p.uffd_sigbus, -EOPNOTSUPP);
	assert_int_equal(p.pagemap_scan, -EOPNOTSUPP);
	assert_int_equal(p.pagemap_uffd_wp, -EOPNOTSUPP);
	assert_int_equal(p.discarded_page, -EOPNOTSUPP);
	assert_int_equal(p.discarded_block, -EOPNOTSUPP);
	assert_int_equal(p.procmap_query, -EOPNOTSUPP);
	assert_int_equal(p.soft_dirty_set, -EOPNOTSUPP);
	assert_int_equal(p.mprotect, -EOPNOTSUPP);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_IF(a_refusal_is_blamed_on_what_was_refused, lacks_scan),
		CASE_IF(without_a_userfaultfd_what_needs_one_is_not_tried,
			lacks_mprotect),
		CASE_IF(a_kernel_that_only_pretends_is_found_out, lacks_scan),
	};

	return RUN_CASES("probe refused", cases);
}
