/* SPDX-License-Identifier: MIT */
/* probe_stage.c: sets up what each behaviour is tried on, and takes it down. */
#include "probe.h"
#include "sys.h"
#include "uapi.h"
#include "vma.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

static int map_stage(struct wt_stage *s, int kind)
{
	bool huge = kind & MAP_HUGETLB;
	uintptr_t at;
	int rc;

	s->page = wt_page_size();
	s->block = wt_huge_size();
	/* One page becomes one huge page, of whatever size they are here. */
	s->mapped = huge ? s->page : 2 * s->block;
	rc = wt_sys_mmap_kind(s->mapped, kind ? kind : MAP_PRIVATE, &s->map);
	if (rc)
		return rc;
	at = (uintptr_t)s->map;
	if (huge)
		s->mapped = s->block = wt_vma_page_size_at(at);
	else /* One store is to be one page. */
		wt_sys_madvise(at, s->mapped, MADV_NOHUGEPAGE);
	s->mem = (char *)s->map + (-at & (s->block - 1));
	return 0;
}

static int register_stage(struct wt_stage *s, const struct wtrack_probe *p,
			  uint64_t features)
{
	struct wt_uffdio_register reg;

	s->uffd = wt_probe_uffd(p, WT_FEATURE_PAGEFAULT_WP | features);
	if (s->uffd < 0)
		return s->uffd;
	memset(&reg, 0, sizeof(reg));
	reg.range.start = (uintptr_t)s->mem;
	reg.range.len = s->block;
	reg.mode = WT_REGISTER_MODE_WP;
	return wt_sys_ioctl(s->uffd, WT_UFFDIO_REGISTER, &reg);
}

static int put_on(const struct wt_play *play, const struct wtrack_probe *p)
{
	struct wt_stage s = { .pagemap = -1, .uffd = -1 };
	int rc = map_stage(&s, play->kind);

	if (rc) /* No huge pages here is no defect of what was to be tried. */
		return play->kind & MAP_HUGETLB ? WTRACK_NOT_TRIED : rc;
	if (play->needs & WT_NEEDS_PAGEMAP) {
		s.pagemap = wt_sys_open("/proc/self/pagemap", O_RDONLY);
		rc = s.pagemap < 0 ? s.pagemap : 0;
	}
	if (!rc && play->needs & WT_NEEDS_UFFD)
		rc = register_stage(&s, p, play->features);
	if (!rc)
		rc = play->play(&s);
	wt_sys_close(s.uffd);
	wt_sys_close(s.pagemap);
	wt_sys_munmap(s.map, s.mapped);
	return rc;
}

void wt_probe_kernel(struct wtrack_probe *p)
{
	unsigned open = (p->door_pagemap ? 0 : WT_NEEDS_PAGEMAP) |
			(p->door_device && p->door_syscall && p->door_user
				 ? 0
				 : WT_NEEDS_UFFD);

	for (size_t i = 0; i < wt_n_plays; i++) {
		int rc = wt_plays[i].needs & ~open ? WTRACK_NOT_TRIED
						   : put_on(&wt_plays[i], p);

		memcpy((char *)p + wt_plays[i].result, &rc, sizeof(rc));
	}
	/*
	 * Clearing is for the whole process, whose bits may be somebody's
	 * (CRIU), and a new mapping reads dirty until then.
	 */
	p->soft_dirty_clear = WTRACK_NOT_TRIED;
}
