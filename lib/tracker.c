/* SPDX-License-Identifier: MIT */
/* tracker.c: opens and closes handles; the one place that ranks backends. */
#include "costs.h"
#include "dirtymap.h"
#include "engine.h"
#include "fault.h"
#include "fork.h"
#include "heat.h"
#include "inject.h"
#include "mem.h"
#include "options.h"
#include "selftest.h"
#include "sys.h"

#include <errno.h>
#include <string.h>

#define WT_API __attribute__((visibility("default")))

/* Best first.  `all` works anywhere, so that open always finds something. */
const struct wt_backend *const wt_backends[WT_N_BACKENDS] = {
	&wt_backend_scan,    &wt_backend_async,     &wt_backend_wp,
	&wt_backend_monitor, &wt_backend_softdirty, &wt_backend_mprotect,
	&wt_backend_all,
};

size_t wt_backend_index(const struct wt_backend *be)
{
	size_t i = 0;

	while (wt_backends[i] != be)
		i++;
	return i;
}

static bool name_known(const char *name)
{
	for (size_t i = 0; i < WT_N_BACKENDS; i++)
		if (!strcmp(wt_backends[i]->name, name))
			return true;
	return false;
}

int wt_open_locked(const struct wt_backend *be, uint64_t caps,
		   const struct wtrack_options *o, struct wtrack **out)
{
	bool hosted = o->flags & WTRACK_OPEN_HOST_SIGNALS;
	uint64_t memory = 0;
	struct wtrack *t;
	void *p;
	int rc = wt_backend_use(be);

	if (rc)
		return rc;
	if (be->signal && !hosted)
		rc = wt_fault_install(be->signal);
	if (!rc)
		rc = wt_map(sizeof(*t), &p, &memory);
	if (rc)
		goto release;
	t = p;
	t->be = be;
	t->caps = caps;
	t->hosted = hosted;
	t->grain_shift =
		o->grain ? (unsigned)__builtin_ctzl(o->grain) : wt_page_shift();
	if (o->policy)
		wt_policy_read(o->policy, &t->policy);
	t->memory = memory;
	rc = wt_table_init(&t->table, &t->memory);
	if (rc)
		goto unmap;
	wt_add_handle(t);
	*out = t;
	return 0;
unmap:
	wt_unmap(t, sizeof(*t), &memory);
release:
	wt_backend_release(be);
	return rc;
}

bool wt_is_eligible(const struct wt_backend *be, const struct wtrack_options *o)
{
	bool named = o->backend && !strcmp(o->backend, be->name);

	if (o->backend && !named)
		return false;
	if (be->only_named && !named)
		return false;
	if (be->thread && !named && !(o->flags & WTRACK_OPEN_THREAD))
		return false;
	return !(o->require & ~be->caps) &&
	       (o->grain <= wt_page_size() || be->grains);
}

int wt_pick_locked(const struct wtrack_options *o,
		   const struct wt_backend **out, uint64_t *caps)
{
	int rc = -EOPNOTSUPP;

	if (o->backend && !name_known(o->backend))
		return -EINVAL;
	for (size_t i = 0; i < WT_N_BACKENDS; i++) {
		const struct wt_backend *be = wt_backends[i];
		const struct wt_trial *trial;

		/* Not even tried: it might install a handler to no end. */
		if (!wt_is_eligible(be, o))
			continue;
		trial = wt_trial_of(be, o);
		if (!trial->result && !(o->require & ~trial->caps)) {
			*out = be;
			*caps = trial->caps;
			return 0;
		}
		/* A shortage is told as what it is, unless another serves. */
		if (trial->shortage)
			rc = trial->shortage;
	}
	return rc;
}

static int open_best(const struct wtrack_options *o, struct wtrack **out)
{
	const struct wt_backend *be;
	uint64_t caps;
	int rc = wt_pick_locked(o, &be, &caps);

	if (!rc)
		rc = wt_open_locked(be, caps, o, out);
	if (!rc && (*out)->policy.kind != WTRACK_POLICY_EXACT)
		wt_costs_measure(be, (*out)->hosted);
	return rc;
}

WT_API int wtrack_open(const struct wtrack_options *opts, struct wtrack **out)
{
	struct wtrack_options o;
	sigset_t saved;
	int rc;

	if (!out)
		return -EINVAL;
	rc = wt_options_read(opts, &o);
	if (rc)
		return rc;
	wt_fork_check();
	wt_lock(&saved);
	rc = wt_inject_init();
	if (!rc)
		rc = wt_fork_init();
	if (!rc)
		rc = open_best(&o, out);
	wt_unlock(&saved);
	return rc;
}

/* Un-protecting can fail only at the limit of mappings; then once more. */
static void unwatch_all(struct wtrack *t)
{
	struct wt_range r[WT_LEAF_RANGES];
	uintptr_t at = 0;
	size_t n;

	while ((n = wt_table_peek(&t->table, at, r))) {
		for (size_t i = 0; i < n; i++) {
			wt_unwatch_locked(t, r[i].start, r[i].end);
			at = r[i].end;
		}
	}
}

void wt_close_locked(struct wtrack *t)
{
	const struct wt_backend *be = wt_be(t);
	uint64_t memory = sizeof(*t);

	unwatch_all(t);
	wt_remove_handle(t);
	/* Handlers that found the handle in the list are done after this. */
	wt_wait_for_readers();
	wt_backend_release(be);
	wt_table_destroy(&t->table);
	wt_unmap(t, sizeof(*t), &memory);
}

WT_API void wtrack_close(struct wtrack *t)
{
	sigset_t saved;

	if (!t)
		return;
	wt_fork_check();
	wt_lock(&saved);
	wt_close_locked(t);
	wt_unlock(&saved);
}

bool wt_handler_replaced(struct wtrack *t)
{
	if (t->hosted || !wt_fault_replaced(wt_be(t)->signal))
		return false;
	wt_count(&t->count.handler_replaced, 1);
	return true;
}

WT_API int wtrack_info(struct wtrack *t, struct wtrack_info *info)
{
	struct wt_trial scan = wt_trial_result(&wt_backend_scan);
	struct wt_trial mprotect = wt_trial_result(&wt_backend_mprotect);
	const struct wt_doors *doors = wt_scan_doors();
	const struct wt_costs *costs;
	struct wtrack_info i;

	if (!t || !info)
		return -EINVAL;
	wt_fork_check();
	costs = wt_costs_measured(wt_be(t));
	memset(&i, 0, sizeof(i));
	i.size = sizeof(i);
	i.backend = wt_be(t)->name;
	i.caps = t->caps;
	i.page_size = wt_page_size();
	i.epoch = __atomic_load_n(&t->epoch, __ATOMIC_RELAXED);
	i.door_device = doors->device;
	i.door_syscall = doors->syscall;
	i.door_user = doors->user;
	i.door_pagemap = doors->pagemap;
	i.door_selftest = scan.tried ? scan.result : WTRACK_NOT_TRIED;
	i.door_signal = mprotect.tried ? mprotect.result : WTRACK_NOT_TRIED;
	i.handler = wt_handler_replaced(t) ? -EBUSY : 0;
	i.policy = t->policy.kind;
	if (costs) {
		i.fault_ns = costs->fault;
		i.arm_ns = costs->arm;
		i.arm_page_ns = costs->arm_page;
		i.fused_ns = costs->fused;
		i.call_ns = costs->call;
		i.look_ns = costs->look;
	}
	return wt_struct_give(info, &i);
}

static uint64_t get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void give_hot_stats(const struct wtrack *t, struct wtrack_stats *s)
{
	s->presumed = get(&t->hot.presumed);
	s->faults_avoided = get(&t->hot.avoided);
	s->rechecks = get(&t->hot.rechecks);
	s->rechecks_dirty = get(&t->hot.rechecks_dirty);
	s->rechecks_clean = get(&t->hot.rechecks_clean);
	s->deferred = get(&t->hot.deferred);
	s->arms_run = get(&t->hot.arms_run);
	s->arms_wide = get(&t->hot.arms_wide);
	s->arms_fused = get(&t->hot.arms_fused);
	s->policy_exact = get(&t->hot.exact);
	s->policy_bytes = wt_heat_used_bytes();
}

WT_API int wtrack_stats(struct wtrack *t, struct wtrack_stats *stats)
{
	struct wtrack_stats s;

	if (!t || !stats)
		return -EINVAL;
	memset(&s, 0, sizeof(s));
	s.size = sizeof(s);
	s.collections = get(&t->count.collections);
	s.runs = get(&t->count.runs);
	s.kernel_calls = get(&t->count.kernel_calls);
	s.faults = get(&t->count.faults);
	s.faults_passed = wt_fault_passed();
	s.widened = get(&t->count.widened);
	s.degraded = get(&t->count.degraded);
	s.lost = get(&t->count.lost);
	s.ranges = get(&t->table.ranges);
	s.watched_bytes = get(&t->table.bytes);
	s.memory_bytes = get(&t->memory);
	s.handler_replaced = get(&t->count.handler_replaced);
	/* The maps are shared by all handles; each shows all of them. */
	if (wt_be(t)->signal || wt_be(t)->bitmap)
		s.memory_bytes += wt_dirty_bytes();
	if (__atomic_load_n(&t->hot.on, __ATOMIC_RELAXED))
		s.memory_bytes += wt_heat_bytes();
	give_hot_stats(t, &s);
	return wt_struct_give(stats, &s);
}
