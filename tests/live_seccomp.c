/* SPDX-License-Identifier: MIT */
/*
 * live_seccomp.c: the rules of libwtrack-seccomp are enough, and all needed.
 *
 * Each scene is played by a process that a system call without a rule kills.
 * Then it is played without one rule, for each rule: if that kills in no scene,
 * the rule is one that nobody needs, or the scenes have a hole.
 */
#include "seccomp_scene.h"

#include "engine.h"
#include "seccomp_rules.h"
#include "uapi.h"
#include "wtrack-seccomp.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const char *lacks_filters(void)
{
	if (prctl(PR_GET_SECCOMP) < 0)
		return "the kernel has no filters";
	return lacks_native_run();
}

/* To try a table against itself is no matter of the kernel. */
static bool is_emulated(void)
{
	return getenv("WTRACK_EMULATED");
}

static const char *lacks_speed(void)
{
	if (is_emulated())
		return "hundreds of processes take minutes in an emulator";
	return lacks_filters();
}

/* ---- enough ---- */

static void assert_plays(const struct scene *s)
{
	int status = scene_play(s), signal = scene_signal(s);

	if (signal && WIFSIGNALED(status) && WTERMSIG(status) == signal)
		return;
	if (!signal && WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	fail_msg("scene %d ends with status %#x", (int)s->kind,
		 (unsigned)status);
}

static void play_all(const char *backend, bool opened)
{
	/* The others are played on the host, which lacks this one. */
	if (is_emulated() && (!backend || strcmp(backend, "softdirty") != 0)) {
		print_message("# not played in an emulator\n");
		return;
	}
	for (int kind = 0; kind < SCENES; kind++) {
		struct scene s = { backend, opened, -1, (enum scene_kind)kind };

		if (!scene_lacks(&s))
			assert_plays(&s);
	}
}

static void a_confined_program_opens_and_tracks(void **state)
{
	play_all(*state, false);
}

static void a_program_that_has_opened_is_confined(void **state)
{
	play_all(*state, true);
}

static void the_rules_of_any_serve_the_best(void **state)
{
	(void)state;
	play_all(NULL, false);
	play_all(NULL, true);
}

/* ---- needed ---- */

/* What no scene reaches for sure, and why the rule is there. */
static bool is_out_of_reach(const struct wt_seccomp_rule *rule, bool opened)
{
	uint64_t value = rule->n ? rule->condition[0].value : 0;

	/* The filter may come before the monitor's thread has made them. */
	if (rule->nr == SCMP_SYS(rseq) || rule->nr == SCMP_SYS(set_robust_list))
		return opened;
	/* One or the other, as libc is old or new. */
	if (rule->nr == SCMP_SYS(clone) || rule->nr == SCMP_SYS(clone3))
		return true;
	/* A process that is stopped and continued while it sleeps. */
	if (rule->nr == SCMP_SYS(restart_syscall))
		return true;
	/* Done by liburcu when it is loaded, here before the filter. */
	if (rule->nr == SCMP_SYS(membarrier) &&
	    value != WT_MEMBARRIER_PRIVATE_EXPEDITED)
		return true;
	return rule->nr == SCMP_SYS(madvise) &&
	       value == WT_MADV_POPULATE_READ && lacks_hugetlb();
}

static bool is_missed(const char *backend, bool opened, size_t rule)
{
	for (int kind = 0; kind < SCENES; kind++) {
		struct scene s = { backend, opened, (int)rule,
				   (enum scene_kind)kind };
		int status;

		if (scene_lacks(&s))
			continue;
		status = scene_play(&s);
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
			return true;
	}
	return false;
}

static void miss_each(const char *backend, bool opened)
{
	unsigned when = opened ? WT_TO_RUN : WT_TO_OPEN;
	unsigned backends = wt_seccomp_backends(backend);

	for (size_t i = 0; i < wt_seccomp_n_rules; i++) {
		const struct wt_seccomp_rule *rule = &wt_seccomp_rules[i];

		if (!wt_seccomp_applies(rule, backends, when) ||
		    is_out_of_reach(rule, opened) ||
		    is_missed(backend, opened, i))
			continue;
		fail_msg("rule %zu (system call %d) is not needed", i,
			 rule->nr);
	}
}

static void each_rule_is_needed_to_open_and_track(void **state)
{
	allow_more_seconds(300);
	miss_each(*state, false);
}

static void each_rule_is_needed_once_it_is_open(void **state)
{
	allow_more_seconds(300);
	miss_each(*state, true);
}

/* ---- the function ---- */

static void wrong_arguments_are_told(void **state)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);

	(void)state;
	assert_returns(-EINVAL, wtrack_seccomp_allow(NULL, NULL, 0));
	assert_returns(-EINVAL, wtrack_seccomp_allow(filter, "none", 0));
	assert_returns(-EINVAL, wtrack_seccomp_allow(filter, "", 0));
	assert_returns(-EINVAL, wtrack_seccomp_allow(filter, NULL, 2));
	/* Twice, and for several backends, is no contradiction. */
	for (int i = 0; i < 2; i++)
		for (size_t n = 0; n < wt_seccomp_n_names; n++)
			assert_returns(0, wtrack_seccomp_allow(
						  filter,
						  wt_seccomp_names[n].name, 0));
	seccomp_release(filter);
}

static void a_filter_that_cannot_take_the_rules_is_told(void **state)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	(void)state;
	assert_returns(-EACCES, wtrack_seccomp_allow(filter, NULL, 0));
	assert_int_equal(seccomp_reset(filter, SCMP_ACT_KILL_PROCESS), 0);
	assert_int_equal(
		seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl),
				 1,
				 SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff,
					 WT_PROCMAP_QUERY)),
		0);
	assert_returns(-EEXIST, wtrack_seccomp_allow(filter, "all", 0));
	seccomp_release(filter);
}

/* Whatever open may come to try has rules, whether it works here or not. */
static void each_backend_has_rules(void **state)
{
	unsigned unasked = wt_seccomp_backends(NULL);

	(void)state;
	for (size_t i = 0; i < WT_N_BACKENDS; i++) {
		unsigned backend = wt_seccomp_backends(wt_backends[i]->name);

		/* What needs a thread, or disturbs others, must be named. */
		if (!backend ||
		    !(backend & unasked) != (wt_backends[i]->thread ||
					     wt_backends[i]->only_named))
			fail_msg("%s", wt_backends[i]->name);
	}
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE(wrong_arguments_are_told),
		CASE(a_filter_that_cannot_take_the_rules_is_told),
		CASE(each_backend_has_rules),
		CASE_NEEDS_IF(a_confined_program_opens_and_tracks, 0,
			      lacks_filters),
		CASE_NEEDS_IF(a_program_that_has_opened_is_confined, 0,
			      lacks_filters),
		CASE_IF(the_rules_of_any_serve_the_best, lacks_filters),
		CASE_NEEDS_IF(each_rule_is_needed_to_open_and_track, 0,
			      lacks_speed),
		CASE_NEEDS_IF(each_rule_is_needed_once_it_is_open, 0,
			      lacks_speed),
	};

	if (argc > 1)
		scene_perform(argv[1]);
	return RUN_CASES("seccomp", cases);
}
