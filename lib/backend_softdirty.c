/* SPDX-License-Identifier: MIT */
/*
 * backend_softdirty.c: soft-dirty bits, cleared for the whole process.
 *
 * Only by name: clearing takes the bits from every other user of them, such as
 * a checkpoint tool.  Private anonymous memory only: of what can be read back
 * from a file the kernel may drop the entry, and the bit with it
 * [K-soft-shared]; of huge pages (hugetlb) it keeps no bit [K-soft-hugetlb].
 */
#include "dirtymap.h"
#include "softdirty.h"

#include <errno.h>

static int softdirty_start(void)
{
	int rc = wt_soft_open();

	/* Without the list of mappings, a file's could not be told. */
	if (!rc && !wt_vma_readable())
		rc = -EACCES;
	if (rc)
		wt_soft_close();
	return rc;
}

static void softdirty_stop(void)
{
	wt_soft_close();
}

static int softdirty_revive(bool forked)
{
	(void)forked;
	wt_soft_close();
	wt_soft_reset();
	return softdirty_start();
}

/* Whether no handle watches anything by soft-dirty bits. */
static bool is_first(void)
{
	struct wtrack *t = wt_first_handle();

	while (t && (wt_be(t) != &wt_backend_softdirty ||
		     !__atomic_load_n(&t->table.ranges, __ATOMIC_RELAXED)))
		t = wt_next_handle(t);
	return !t;
}

/* Makes clean what can be; the rest stays dirty and says so. */
static int make_clean(struct wtrack *t, const struct wt_span *s, bool stopped,
		      bool *cleared)
{
	uint64_t entry[WT_SOFT_ENTRIES];
	int rc = wt_soft_check();

	if (!rc)
		rc = wt_soft_any(t, s->start, s->end);
	*cleared = rc == 0 || (rc > 0 && !wt_soft_clear(t, stopped, entry));
	if (rc < 0)
		return rc;
	wt_dirty_clear(s->start, s->end);
	return rc ? wt_soft_keep_set(t, s->start, s->end) : 0;
}

static int softdirty_arm(struct wtrack *t, const struct wt_span *s,
			 unsigned flags)
{
	bool cleared;
	int rc = make_clean(t, s, flags & WTRACK_STOPPED, &cleared);

	return rc || cleared ? rc : -EAGAIN;
}

/*
 * Where others watch, and could write meanwhile, nothing is cleared: pages that
 * were written before are reported once, as such that may not have been.
 */
static int softdirty_enroll(struct wtrack *t, const struct wt_span *s,
			    bool dirty)
{
	bool ignored;
	int rc;

	if (s->attr & (WT_FILE | WT_HUGETLB))
		return -EINVAL;
	rc = wt_dirty_reserve(s->start, s->end);
	if (rc)
		return rc;
	if (dirty) {
		wt_dirty_set(s->start, s->end);
		return 0;
	}
	return make_clean(t, s, is_first(), &ignored);
}

static int softdirty_withdraw(struct wtrack *t, const struct wt_span *s)
{
	(void)t;
	wt_dirty_clear(s->start, s->end);
	return 0;
}

static int softdirty_mark(struct wtrack *t, const struct wt_span *s)
{
	(void)t;
	wt_dirty_set(s->start, s->end);
	return 0;
}

static int softdirty_inspect(struct wtrack *t, const struct wt_span *s,
			     uintptr_t addr)
{
	struct wt_span block = wt_block_at(s, addr);

	(void)t;
	return wt_vma_mapped(block.start, block.end);
}

static void softdirty_adopt(struct wtrack *t, const struct wt_span *s)
{
	(void)t;
	(void)s;
}

const struct wt_backend wt_backend_softdirty = {
	.name = "softdirty",
	.caps = WTRACK_CAP_PRECISE | WTRACK_CAP_KERNEL_WRITES |
		WTRACK_CAP_NO_SIGNAL,
	.attr_mask = ~(uint64_t)(WT_PROT_MASK | WT_STABLE),
	.only_named = true,
	.bitmap = true,
	.whole = true,
	.grains = false,
	.signal = 0,
	.first_pages = 0,
	.start = softdirty_start,
	.stop = softdirty_stop,
	.enroll = softdirty_enroll,
	.withdraw = softdirty_withdraw,
	.collect = wt_soft_collect,
	.arm = softdirty_arm,
	.mark = softdirty_mark,
	.inspect = softdirty_inspect,
	.revive = softdirty_revive,
	.adopt = softdirty_adopt,
	.resolve = NULL,
};
