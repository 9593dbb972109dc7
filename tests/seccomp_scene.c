/* SPDX-License-Identifier: MIT */
/* seccomp_scene.c: a process, and the filter that confines it. */
#include "seccomp_scene.h"

#include "engine.h"
#include "seccomp_rules.h"
#include "wtrack-seccomp.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct scene scene;

/* ---- the filter ---- */

static void allow(scmp_filter_ctx filter, int nr, unsigned n,
		  struct scmp_arg_cmp arg)
{
	CHECK(!seccomp_rule_add(filter, SCMP_ACT_ALLOW, nr, n, arg));
}

/* What the test needs for itself. */
static void allow_test(scmp_filter_ctx filter)
{
	allow(filter, SCMP_SYS(exit_group), 0, SCMP_A0(SCMP_CMP_EQ, 0, 0));
	/* To tell what went wrong, and to send a signal. */
	allow(filter, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, 2, 0));
	allow(filter, SCMP_SYS(tgkill), 1,
	      SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	if (scene.kind != SCENE_FORK)
		return;
	allow(filter, SCMP_SYS(clone), 0, SCMP_A0(SCMP_CMP_EQ, 0, 0));
	allow(filter, SCMP_SYS(set_robust_list), 0, SCMP_A0(SCMP_CMP_EQ, 0, 0));
	allow(filter, SCMP_SYS(wait4), 0, SCMP_A0(SCMP_CMP_EQ, 0, 0));
}

static void allow_library(scmp_filter_ctx filter)
{
	unsigned when = scene.opened ? WT_TO_RUN : WT_TO_OPEN;
	unsigned backends = wt_seccomp_backends(scene.backend);

	if (scene.without < 0) {
		CHECK(!wtrack_seccomp_allow(filter, scene.backend,
					    scene.opened ? WTRACK_SECCOMP_OPENED
							 : 0));
		return;
	}
	for (size_t i = 0; i < wt_seccomp_n_rules; i++)
		if (i != (size_t)scene.without &&
		    wt_seccomp_applies(&wt_seccomp_rules[i], backends, when))
			CHECK(!wt_seccomp_add(filter, &wt_seccomp_rules[i]));
}

static void confine(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);

	CHECK(filter);
	CHECK(!seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1));
	allow_test(filter);
	allow_library(filter);
	CHECK(!seccomp_load(filter));
}

/* ---- the process ---- */

static void open_handle(struct wtrack **out)
{
	struct wtrack_options o = WTRACK_OPTIONS_INIT;

	o.backend = scene.backend;
	CHECK(!wtrack_open(&o, out));
}

void scene_perform(const char *argument)
{
	struct wtrack *first = NULL, *t = NULL;
	static char name[16];
	int opened, kind;

	CHECK(sscanf(argument, "%15[a-z],%d,%d,%d", name, &opened,
		     &scene.without, &kind) == 4);
	scene.backend = strcmp(name, "any") != 0 ? name : NULL;
	scene.opened = opened;
	scene.kind = (enum scene_kind)kind;
	signal(SIGSEGV, SIG_DFL);
	scene_prepare(&scene);
	if (scene.opened)
		open_handle(&first);
	confine();
	open_handle(&t);
	scene_act(t);
	wtrack_close(t);
	wtrack_close(first);
	_exit(0);
}

/* ---- the parent ---- */

/* The signal that the backend handles, or 0. */
static int signal_of(const char *backend)
{
	for (size_t i = 0; backend && i < WT_N_BACKENDS; i++)
		if (!strcmp(wt_backends[i]->name, backend))
			return wt_backends[i]->signal;
	return 0;
}

int scene_signal(const struct scene *s)
{
	if (s->kind != SCENE_FAULT && s->kind != SCENE_SENT)
		return 0;
	return signal_of(s->backend);
}

const char *scene_lacks(const struct scene *s)
{
	if (s->kind == SCENE_HUGE && s->backend &&
	    !strcmp(s->backend, "softdirty"))
		return "it refuses such memory";
	if (s->kind == SCENE_HUGE)
		return lacks_hugetlb();
	/* It opens again; and what kills a child does not kill its parent. */
	if (s->kind == SCENE_FORK && (s->opened || s->without >= 0))
		return "not for a child";
	if (s->kind == SCENE_FAULT || s->kind == SCENE_SENT)
		return scene_signal(s) ? NULL : "no signal is handled";
	return NULL;
}

int scene_play(const struct scene *s)
{
	char argument[64];

	snprintf(argument, sizeof(argument), "%s,%d,%d,%d",
		 s->backend ? s->backend : "any", s->opened, s->without,
		 (int)s->kind);
	return run_self(argument);
}
