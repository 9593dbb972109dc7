/* SPDX-License-Identifier: MIT */
/* support_live.c: views, gates and teams. */
#include "support_live.h"
#include "width.h"

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* ---- views ---- */

#define CALL_RUNS 4096

static struct wtrack_run call_runs[CALL_RUNS];

static void enter_run(struct view *v, const struct mem *m,
		      const struct wtrack_run *run)
{
	uintptr_t base = (uintptr_t)m->base;

	assert_true(run->start < run->end);
	assert_int_not_equal(run->flags, 0);
	assert_true(run->start >= base);
	assert_true(run->end <= base + m->pages * m->page);
	assert_int_equal((run->start - base) % m->page, 0);
	assert_int_equal((run->end - base) % m->page, 0);
	for (uintptr_t at = run->start; at < run->end; at += m->page)
		v->flags[(at - base) / m->page] = run->flags;
}

void view_collect(struct view *v, struct wtrack *t, const struct mem *m,
		  size_t nruns, unsigned flags)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	uintptr_t last = 0;
	ssize_t n;

	assert_true(m->pages <= VIEW_PAGES && nruns <= CALL_RUNS);
	memset(v, 0, sizeof(*v));
	do {
		n = wtrack_collect(t, &at, call_runs, nruns, flags);
		assert_in_range(n, 0, nruns);
		for (ssize_t i = 0; i < n; i++) {
			assert_true(call_runs[i].start >= last);
			if (i && call_runs[i].start == last)
				assert_int_not_equal(call_runs[i - 1].flags,
						     call_runs[i].flags);
			enter_run(v, m, &call_runs[i]);
			last = call_runs[i].end;
			assert_true(at.next >= last);
		}
		v->runs += (size_t)n;
	} while ((size_t)n == nruns);
}

static bool is_listed(const size_t *pages, size_t n, size_t page)
{
	for (size_t i = 0; i < n; i++)
		if (pages[i] == page)
			return true;
	return false;
}

void view_expect(const struct view *v, struct wtrack *t, const struct mem *m,
		 const size_t *pages, size_t n)
{
	bool precise = is_precise(t), huge = m->page != page_size();

	for (size_t i = 0; i < m->pages; i++) {
		bool listed = is_listed(pages, n, i);
		uint64_t flags = v->flags[i];

		if (listed && !flags)
			fail_msg("page %zu is not reported", i);
		if (!listed && flags && precise &&
		    (huge || flags == WTRACK_RUN_WRITTEN))
			fail_msg("page %zu is reported: %#" PRIx64, i, flags);
	}
}

uint64_t look_at(struct wtrack *t, const struct mem *m, size_t page)
{
	struct view v;

	view_collect(&v, t, m, 64, WTRACK_GET);
	return v.flags[page];
}

bool is_precise(struct wtrack *t)
{
	return caps_of(t) & WTRACK_CAP_PRECISE;
}

uint64_t kept_huge_flags(void)
{
	static int set = -1;

	if (set < 0)
		set = wt_width_read().huge;
	return set ? WTRACK_RUN_COARSE : 0;
}

/* ---- policies ---- */

const struct wtrack_policy rescan_soon = {
	sizeof(rescan_soon), WTRACK_POLICY_RESCAN, 1, 2, 8, 0
};
const struct wtrack_policy copy_soon = {
	sizeof(copy_soon), WTRACK_POLICY_COPY, 2, 2, 4, 0
};

struct wtrack *open_policy(const char *backend,
			   const struct wtrack_policy *policy)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct wtrack *t = NULL;

	options.backend = backend;
	options.policy = policy;
	assert_int_equal(wtrack_open(&options, &t), 0);
	return t;
}

/* What is kept of addresses is kept by the GiB. */
struct mem map_unknown(size_t pages)
{
	static uintptr_t at = (uintptr_t)0x7ea0 << 32;
	struct mem m = { NULL, pages, page_size(), -1 };

	at += (uintptr_t)1 << 30;
	m.base = mmap((void *)at, pages * m.page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(m.base, MAP_FAILED);
	return m;
}

bool decides_by_page(const char *backend)
{
	return strcmp(backend, "softdirty") && strcmp(backend, "all");
}

/* ---- what tests do to memory ---- */

void store(const struct mem *m, size_t page)
{
	++*(volatile char *)(page_of(m, page) + 5);
}

void watch_pages(struct wtrack *t, const struct mem *m, size_t page, size_t n,
		 unsigned flags)
{
	assert_int_equal(wtrack_watch(t, page_of(m, page), n * m->page, flags),
			 0);
}

void unwatch_pages(struct wtrack *t, const struct mem *m, size_t page, size_t n)
{
	assert_int_equal(wtrack_unwatch(t, page_of(m, page), n * m->page), 0);
}

void for_each_kind(void (*f)(struct wtrack *t, enum mem_kind kind),
		   const char *backend)
{
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		const char *why = mem_kind_lacks((enum mem_kind)kind);
		struct wtrack *t;

		if (why) {
			printf("# %s memory left out: %s\n",
			       mem_kind_name((enum mem_kind)kind), why);
			continue;
		}
		t = open_on(backend);
		if (watches_kind(t, (enum mem_kind)kind))
			f(t, (enum mem_kind)kind);
		wtrack_close(t);
	}
}

/* ---- randomness ---- */

size_t roll(struct dice *d, size_t n)
{
	/* splitmix64's step: any seed will do, and 0 too. */
	uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (size_t)((z ^ (z >> 31)) % n);
}

unsigned long env_number(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoul(text, NULL, 0) : otherwise;
}

/* ---- gates and failures ---- */

static _Thread_local int gate_after; /* 0: this thread has no gate */
static _Thread_local enum wt_sys gate_id;
static sem_t gate_reached, gate_opened;
static pthread_once_t gates_once = PTHREAD_ONCE_INIT;

static void make_gates(void)
{
	sem_init(&gate_reached, 0, 0);
	sem_init(&gate_opened, 0, 0);
}

static struct {
	int id;
	int after;
	int times;
	long error;
} failure = { -1, 0, 0, 0 };

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem))
		assert_int_equal(errno, EINTR);
}

static bool gate_hook(enum wt_sys id, const long args[6], long *result)
{
	(void)args;
	(void)result;
	if (gate_after && gate_id == id && !--gate_after) {
		sem_post(&gate_reached);
		wait_for(&gate_opened);
	}
	return false;
}

void gate_set(enum wt_sys id, int nth)
{
	pthread_once(&gates_once, make_gates);
	gate_id = id;
	gate_after = nth;
	at_the_door(gate_hook);
}

void gate_await(void)
{
	pthread_once(&gates_once, make_gates);
	wait_for(&gate_reached);
}

void gate_open(void)
{
	sem_post(&gate_opened);
}

void gate_pass(void)
{
	sem_post(&gate_reached);
}

static bool fail_hook(enum wt_sys id, const long args[6], long *result)
{
	(void)args;
	if ((int)id != failure.id)
		return false;
	if (__atomic_sub_fetch(&failure.after, 1, __ATOMIC_SEQ_CST) > 0)
		return false;
	if (__atomic_sub_fetch(&failure.times, 1, __ATOMIC_SEQ_CST) < 0)
		return false;
	*result = failure.error;
	return true;
}

void fail_entry(enum wt_sys id, int nth, int times, long error)
{
	failure.id = (int)id;
	failure.after = nth;
	failure.times = times;
	failure.error = error;
	at_the_door(fail_hook);
}

void fail_no_more(void)
{
	at_the_door(NULL);
}

/* ---- teams ---- */

static void *live(void *arg)
{
	struct teammate *self = arg;

	while (!__atomic_load_n(&self->team->ended, __ATOMIC_ACQUIRE)) {
		self->step(self);
		__atomic_fetch_add(&self->steps, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

void team_init(struct team *team, void *context)
{
	memset(team, 0, sizeof(*team));
	team->context = context;
}

void team_add(struct team *team, void (*step)(struct teammate *self))
{
	size_t i = team->n++;
	struct teammate *mate = &team->mate[i];

	assert_true(i < TEAM_MOST);
	mate->team = team;
	mate->number = i;
	mate->step = step;
	mate->dice.state = i * 7919 + 1;
	assert_int_equal(pthread_create(&team->thread[i], NULL, live, mate), 0);
}

void team_wrong(struct team *team, const char *what)
{
	const char *none = NULL;

	__atomic_compare_exchange_n(&team->wrong, &none, what, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void team_end(struct team *team)
{
	const char *wrong;

	__atomic_store_n(&team->ended, 1, __ATOMIC_RELEASE);
	for (size_t i = 0; i < team->n; i++)
		assert_int_equal(pthread_join(team->thread[i], NULL), 0);
	wrong = __atomic_load_n(&team->wrong, __ATOMIC_SEQ_CST);
	if (wrong)
		fail_msg("%s", wrong);
}

bool time_left(double *since, double seconds)
{
	struct timespec now;
	double t;

	clock_gettime(CLOCK_MONOTONIC, &now);
	t = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	if (*since == 0)
		*since = t;
	return t - *since < seconds;
}
