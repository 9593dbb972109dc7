/* SPDX-License-Identifier: MIT */
/*
 * selftest.c: backends are chosen by what they do, not by version.
 *
 * The test goes through the door and the tables like any user: a handle is
 * opened on scratch memory, which is written in the ways that matter.  Losing
 * or inventing a store fails it; lacking an extra only drops a capability.
 */
#include "selftest.h"
#include "engine.h"
#include "mem.h"
#include "sys.h"
#include "vma.h"

#include <errno.h>
#include <sys/mman.h>

static struct wt_trial trials[WT_N_BACKENDS];

/* Pages that are stored to, or are there to stay clean. */
#define PAGES 8

struct scene {
	struct wtrack *t;
	volatile char *mem; /* pages that are there, watched */
	size_t page;
	uint64_t caps;
	int shortage; /* met on the way: a negative errno, or 0 */
};

/* What says nothing about the backend: another try may find it working. */
static bool is_shortage(int rc)
{
	return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE;
}

static void note_shortage(struct scene *s, int rc)
{
	if (is_shortage(rc))
		s->shortage = rc;
}

static volatile char *page_at(const struct scene *s, size_t i)
{
	return s->mem + i * s->page;
}

/* Page `i` and no other; but of a coarse run, whatever lies around it. */
static bool run_is(const struct scene *s, const struct wtrack_run *run,
		   uintptr_t page)
{
	if (run->flags & WTRACK_RUN_COARSE)
		return run->start <= page && page < run->end;
	return run->start == page && run->end == page + s->page;
}

/*
 * Whether exactly page `i` is dirty; none if `i` is negative.  Others may run,
 * but not write here.
 */
static bool dirty_is(const struct scene *s, int i, unsigned flags)
{
	struct wtrack_run run[2];
	struct wt_sink sink = { run, 0, 2 };
	uintptr_t at = (uintptr_t)s->mem;

	wt_collect(s->t, &at, at + PAGES * s->page, &sink,
		   flags | WTRACK_STOPPED);
	if (i < 0)
		return sink.n == 0;
	return sink.n == 1 &&
	       run_is(s, &run[0], (uintptr_t)page_at(s, (size_t)i));
}

/* A store is seen, looking changes nothing, clearing clears, and again. */
static bool sees_stores(const struct scene *s)
{
	bool ok = dirty_is(s, -1, WTRACK_GET);

	*page_at(s, 1) = 1;
	ok = ok && dirty_is(s, 1, WTRACK_GET) && dirty_is(s, 1, WTRACK_GET);
	ok = ok && dirty_is(s, 1, WTRACK_GET | WTRACK_CLEAR);
	ok = ok && dirty_is(s, -1, WTRACK_GET);
	*page_at(s, 1) = 2;
	return ok && dirty_is(s, 1, WTRACK_GET | WTRACK_CLEAR);
}

/* Memory that was never there when it was armed (pages 4 to 7). */
static bool sees_first_touch(const struct scene *s)
{
	volatile char unused = *page_at(s, 5);

	(void)unused;
	*page_at(s, 6) = 1;
	return dirty_is(s, 6, WTRACK_GET | WTRACK_CLEAR);
}

/* read(2) into an armed page: it works and is seen, or it fails in full. */
static bool sees_kernel_write(struct scene *s)
{
	int fds[2];
	ssize_t n;
	int rc = wt_sys_pipe(fds);
	bool ok;

	if (rc) {
		note_shortage(s, rc);
		return true; /* no verdict, no capability */
	}
	n = wt_sys_write(fds[1], "x", 1);
	if (n == 1)
		n = wt_sys_read(fds[0], (void *)page_at(s, 2), 1);
	wt_sys_close(fds[0]);
	wt_sys_close(fds[1]);
	ok = dirty_is(s, n == 1 ? 2 : -1, WTRACK_GET | WTRACK_CLEAR);
	if (n == 1 && ok)
		s->caps |= WTRACK_CAP_KERNEL_WRITES;
	return ok || n != 1;
}

/*
 * [K-none-pte] [K-pmd-hole] Discarded memory must read as written, a page of it
 * or all that a page table covers: kernels before 6.12.103 differ.
 */
static void try_discard(struct scene *s, uintptr_t block)
{
	uintptr_t at = block, end = block + wt_huge_size();
	struct wtrack_run run[2];
	struct wt_sink sink = { run, 0, 2 };
	struct wt_span span = { block, end,
				(uint64_t)wt_page_shift() << WT_SHIFT_BITS,
				true };
	bool ok;

	wt_sys_madvise((uintptr_t)page_at(s, 3), s->page, MADV_DONTNEED);
	ok = dirty_is(s, 3, WTRACK_GET | WTRACK_CLEAR);
	/* The block is watched, un-armed and empty; ask the room itself. */
	wt_be(s->t)->collect(s->t, &span, &at, &sink, WTRACK_GET);
	if (ok && sink.n == 1 && run[0].start == block && run[0].end == end)
		s->caps |= WTRACK_CAP_DISCARD;
}

static int play(const struct wt_backend *be, struct scene *s, uintptr_t block)
{
	uintptr_t mem = block + wt_huge_size();
	int rc;

	s->page = wt_page_size();
	s->mem = (volatile char *)mem;
	s->caps = be->caps &
		  ~(uint64_t)(WTRACK_CAP_KERNEL_WRITES | WTRACK_CAP_DISCARD);
	for (size_t i = 0; i < 4; i++)
		*page_at(s, i) = 1;
	rc = wt_watch_locked(s->t, mem, mem + PAGES * s->page, 0);
	if (!rc)
		rc = wt_watch_locked(s->t, block, mem, WTRACK_WATCH_DIRTY);
	if (rc)
		return rc;
	if (!sees_stores(s) || !sees_first_touch(s) || !sees_kernel_write(s))
		return -EIO;
	if (be->caps & WTRACK_CAP_DISCARD)
		try_discard(s, block);
	/* Without the list of mappings a replaced one is not noticed. */
	if (be->signal && !wt_vma_readable()) {
		rc = wt_vma_open();
		note_shortage(s, rc);
		if (rc)
			s->caps &= ~(uint64_t)WTRACK_CAP_LOSS;
	}
	return 0;
}

/*
 * The scratch: what one page table covers, empty, then the scene's pages.  Of
 * the size of page tables, so that what is mapped later lies as it would
 * without.
 */
static int run_on_scratch(const struct wt_backend *be, struct scene *s)
{
	size_t scratch = 3 * wt_huge_size();
	uint64_t account = 0;
	void *p;
	int rc = wt_map(scratch, &p, &account);

	if (rc) {
		wt_close_locked(s->t);
		return rc;
	}
	/* Where huge pages are the rule, one store would make all of one dirty.
	 */
	wt_sys_madvise((uintptr_t)p, scratch, MADV_NOHUGEPAGE);
	rc = play(be, s, wt_huge_up((uintptr_t)p));
	wt_close_locked(s->t);
	wt_unmap(p, scratch, &account);
	return rc;
}

static int try_backend(const struct wt_backend *be,
		       const struct wtrack_options *o, struct scene *s)
{
	const struct wtrack_options plain = { .size = sizeof(plain),
					      .flags = o->flags };
	sigset_t saved;
	int rc = wt_open_locked(be, be->caps, &plain, &s->t);

	s->caps = be->caps;
	if (rc)
		return rc;
	if (be == &wt_backend_all) {
		wt_close_locked(s->t);
		return 0;
	}
	wt_faults_unblock(&saved);
	rc = run_on_scratch(be, s);
	wt_signals_restore(&saved);
	return rc;
}

const struct wt_trial *wt_trial_of(const struct wt_backend *be,
				   const struct wtrack_options *o)
{
	struct wt_trial *trial = &trials[wt_backend_index(be)];
	struct scene s = { 0 };

	if (!trial->tried) {
		trial->result = try_backend(be, o, &s);
		note_shortage(&s, trial->result);
		trial->shortage = s.shortage;
		trial->caps = s.caps;
		__atomic_store_n(&trial->tried, !s.shortage, __ATOMIC_RELEASE);
	}
	return trial;
}

struct wt_trial wt_trial_result(const struct wt_backend *be)
{
	const struct wt_trial none = { false, 0, 0, 0 };
	const struct wt_trial *trial = &trials[wt_backend_index(be)];

	return __atomic_load_n(&trial->tried, __ATOMIC_ACQUIRE) ? *trial : none;
}
