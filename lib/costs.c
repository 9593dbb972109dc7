/* SPDX-License-Identifier: MIT */
/* costs.c: times faults and arming on scratch memory, through the door. */
#include "costs.h"
#include "engine.h"
#include "fault.h"
#include "heat.h"
#include "mem.h"
#include "sys.h"

#include <errno.h>
#include <sys/mman.h>

/* In a virtual machine: the right order where nothing could be measured. */
static const struct wt_costs usual = { 13000, 7000, 20, 2000, 23000, 400 };

static struct {
	struct wt_costs costs;
	bool done;
} measured[WT_N_BACKENDS];

/* Of what a policy weighs, two are watched, and one more aligns them. */
#define BLOCKS 3

/* Pages that are stored to and armed one by one, far from each other. */
#define PAGES 4

/* Pages that touch, and have memory: what each adds to an arming. */
#define TOUCHING 16

/* A round takes 0.1 to 0.3 ms; nothing is stored to after so long. */
#define ROUNDS_MOST 8
#define ENOUGH_NS   1200000

struct scene {
	struct wtrack *t;
	struct wt_span block; /* the first of the two */
	struct wt_costs best;
	uint64_t since;
	uint32_t touching; /* arming so many */
	/* Looks through one and through two, and the same with a clearing. */
	uint32_t looks[2];
	uint32_t fuses[2];
};

static void keep_least(uint32_t *best, uint64_t ns)
{
	if (!ns)
		ns = 1;
	if (!*best || ns < *best)
		*best = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* Some are in the one block, and then as many in the other. */
static struct wt_span page_at(const struct scene *s, size_t i)
{
	struct wt_span page = s->block;

	page.start += i * (wt_heat_block() / PAGES);
	page.end = page.start + wt_page_size();
	return page;
}

static bool is_late(const struct scene *s)
{
	return wt_sys_now() - s->since > ENOUGH_NS;
}

/* False where faults take so long that there is no time for all. */
static bool store(const struct scene *s, size_t n)
{
	size_t i;

	for (i = 0; i < n && !is_late(s); i++)
		*(volatile char *)page_at(s, i).start = 1;
	return i == n;
}

static int arm_each(const struct scene *s)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < PAGES; i++) {
		struct wt_span page = page_at(s, i);

		rc = wt_be(s->t)->arm(s->t, &page, WTRACK_STOPPED);
	}
	return rc;
}

static int arm_touching(const struct scene *s)
{
	struct wt_span touching = s->block;

	touching.end = touching.start + (TOUCHING << wt_page_shift());
	return wt_be(s->t)->arm(s->t, &touching, WTRACK_STOPPED);
}

/* Looks through so many blocks; what it takes. */
static uint64_t look(const struct scene *s, size_t blocks, unsigned flags)
{
	struct wtrack_run runs[2 * PAGES + 1];
	struct wt_sink sink = { runs, 0, 2 * PAGES + 1 };
	struct wt_span span = s->block;
	uintptr_t at = span.start;
	uint64_t since = wt_sys_now();

	span.end = at + blocks * wt_heat_block();
	wt_be(s->t)->collect(s->t, &span, &at, &sink,
			     WTRACK_GET | WTRACK_STOPPED | flags);
	return wt_sys_now() - since;
}

/* The first of `n` blocks, armed; false: late. */
static bool time_looks(struct scene *s, size_t n)
{
	keep_least(&s->looks[n - 1], look(s, n, 0));
	if (!store(s, n * PAGES))
		return false;
	keep_least(&s->fuses[n - 1], look(s, n, WTRACK_CLEAR));
	return true;
}

/* All is armed before it, and after it unless it is late. */
static int one_round(struct scene *s)
{
	uint64_t t0 = wt_sys_now(), t1, t2;
	int rc;

	if (!store(s, PAGES))
		return 0;
	t1 = wt_sys_now();
	rc = arm_each(s);
	t2 = wt_sys_now();
	if (!rc)
		rc = arm_touching(s);
	keep_least(&s->best.fault, (t1 - t0) / PAGES);
	keep_least(&s->best.arm, (t2 - t1) / PAGES);
	keep_least(&s->touching, wt_sys_now() - t2);
	if (!rc && time_looks(s, 1))
		time_looks(s, 2);
	return rc;
}

static uint32_t difference(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 1;
}

/*
 * What the second block adds is a block's; the rest of the first, a call's.
 * Where there was no time, what is usual has to do, but for the fault.
 */
static void tell_apart(struct scene *s)
{
	struct wt_costs *c = &s->best;

	if (!s->fuses[1]) {
		uint32_t fault = (uint32_t)((wt_sys_now() - s->since) / PAGES);

		*c = usual;
		c->fault = fault;
		return;
	}
	c->arm_page = difference(s->touching, c->arm) / (TOUCHING - 1);
	c->arm_page += !c->arm_page;
	c->look = difference(s->looks[1], s->looks[0]);
	c->fused = difference(s->fuses[1], s->fuses[0]);
	c->call = difference(s->fuses[0], c->fused);
}

static int play(struct scene *s)
{
	int rc;

	s->since = wt_sys_now();
	/* A clock that does not go: a filter is in its way. */
	if (!s->since)
		return -ENOSYS;
	/* Empty, and so without huge pages, whatever is usual here. */
	rc = wt_watch_locked(s->t, s->block.start,
			     s->block.start + 2 * wt_heat_block(), 0);
	for (size_t i = 0; !rc && i < TOUCHING && !is_late(s); i++)
		*(volatile char *)(s->block.start + (i << wt_page_shift())) = 1;
	if (!rc)
		rc = arm_touching(s);
	for (int i = 0; !rc && i < ROUNDS_MOST && !is_late(s); i++)
		rc = one_round(s);
	tell_apart(s);
	return rc;
}

static int play_on_scratch(struct scene *s)
{
	size_t block = wt_heat_block();
	uint64_t account = 0;
	void *p;
	int rc = wt_map(BLOCKS * block, &p, &account);

	if (rc) {
		wt_close_locked(s->t);
		return rc;
	}
	s->block.start = ((uintptr_t)p + block - 1) & ~(uintptr_t)(block - 1);
	s->block.end = s->block.start + block;
	s->block.attr = (uint64_t)wt_page_shift() << WT_SHIFT_BITS |
			((PROT_READ | PROT_WRITE) & wt_be(s->t)->attr_mask);
	s->block.mapped = true;
	rc = play(s);
	wt_close_locked(s->t);
	wt_unmap(p, BLOCKS * block, &account);
	return rc;
}

void wt_costs_measure(const struct wt_backend *be, bool hosted)
{
	const struct wtrack_options plain = {
		.size = sizeof(plain),
		.flags = hosted ? WTRACK_OPEN_HOST_SIGNALS : 0,
	};
	size_t i = wt_backend_index(be);
	struct scene s = { 0 };
	sigset_t unblocked;

	/* It would take the bits of the whole process from their users. */
	if (measured[i].done || be->whole || !(be->attr_mask & WT_POLICY))
		return;
	/* A fault would reach who does not know it, and kill. */
	if (!hosted && wt_fault_replaced(be->signal))
		return;
	if (wt_open_locked(be, be->caps, &plain, &s.t))
		return;
	wt_faults_unblock(&unblocked);
	if (!play_on_scratch(&s)) {
		measured[i].costs = s.best;
		__atomic_store_n(&measured[i].done, true, __ATOMIC_RELEASE);
	}
	wt_signals_restore(&unblocked);
}

const struct wt_costs *wt_costs_measured(const struct wt_backend *be)
{
	size_t i = wt_backend_index(be);

	return __atomic_load_n(&measured[i].done, __ATOMIC_ACQUIRE)
		       ? &measured[i].costs
		       : NULL;
}

const struct wt_costs *wt_costs_of(const struct wt_backend *be)
{
	const struct wt_costs *costs = wt_costs_measured(be);

	return costs ? costs : &usual;
}
