/* SPDX-License-Identifier: MIT */
/*
 * bug_signal_chain.c: faults and signals that belong to the program's handler.
 *
 * LunarG/gfxreconstruct PR#254: a tracker swallows the faults of others, and
 * Mono breaks.  ruby/ruby PR#6096, #5123, #5394: the handler acts on addresses
 * that are not its own.  openenclave/openenclave PR#4698: Go refuses handlers
 * without SA_ONSTACK.  Each scene runs in a fresh process.  [G5]
 */
#include "support_faults.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void each_foreign_fault_reaches_the_handler_of_before(void **state)
{
	uint64_t passed;

	(void)state;
	install(note_and_jump, 0);
	open_tracker();
	passed = stats_of(tracker).faults_passed;
	for (volatile size_t i = 0; i < N_FAULTS; i++) {
		if (!sigsetjmp(back, 1)) {
			faults[i]();
			fail();
		}
		assert_int_equal(calls, i + 1);
		assert_true(seen.si_code > 0);
	}
	assert_ptr_equal(seen.si_addr, read_only); /* the last one */
	assert_int_equal(stats_of(tracker).faults_passed, passed + N_FAULTS);
	assert_tracks();
}

static void plain_and_jump(int sig)
{
	calls += sig == SIGSEGV;
	siglongjmp(back, 1);
}

static void a_handler_without_siginfo_is_called(void **state)
{
	(void)state;
	signal(SIGSEGV, plain_and_jump);
	open_tracker();
	if (!sigsetjmp(back, 1))
		store_to_null();
	assert_int_equal(calls, 1);
	assert_tracks();
}

static void the_handler_runs_in_the_mask_it_asked_for(void **state)
{
	sigset_t blocked;

	(void)state;
	install(note_and_jump, 0);
	open_tracker();
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGALRM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	if (!sigsetjmp(back, 1))
		store_to_null();
	for (int sig = 1; sig < SIGRTMIN; sig++)
		assert_int_equal(sigismember(&seen_mask, sig),
				 sig == SIGUSR1 || sig == SIGSEGV ||
					 sig == SIGALRM);
}

static void nodefer_leaves_the_signal_open(void **state)
{
	(void)state;
	install(note_and_jump, SA_NODEFER);
	open_tracker();
	if (!sigsetjmp(back, 1))
		store_to_null();
	assert_int_equal(sigismember(&seen_mask, SIGSEGV), 0);
	assert_int_equal(sigismember(&seen_mask, SIGUSR1), 1);
}

static void fault_again(int sig, siginfo_t *si, void *context)
{
	note(sig, si, context);
	if (calls == 1) {
		store_to(watched); /* ours, inside the handler of another */
		store_to_null();   /* another one's, nested */
	}
	siglongjmp(back, 1);
}

static void a_nodefer_handler_may_fault_itself(void **state)
{
	(void)state;
	install(fault_again, SA_NODEFER);
	open_tracker();
	if (!sigsetjmp(back, 1))
		store_to_null();
	assert_int_equal(calls, 2);
	assert_dirty(tracker, watched, 0);
}

/* It returns, and the store works when it is tried again. */
static void repair(int sig, siginfo_t *si, void *context)
{
	note(sig, si, context);
	mprotect(read_only, page_size(), PROT_READ | PROT_WRITE);
}

static void a_handler_may_repair_and_return(void **state)
{
	(void)state;
	install(repair, 0);
	open_tracker();
	errno = 77;
	store_to(read_only);
	assert_int_equal(errno, 77);
	assert_int_equal(calls, 1);
	assert_int_equal(*read_only, 1);
	assert_tracks();
}

static void a_one_shot_handler_is_called_once(void **state)
{
	(void)state;
	install(note_and_jump, SA_RESETHAND);
	open_tracker();
	if (!sigsetjmp(back, 1))
		store_to_null();
	assert_int_equal(calls, 1);
	assert_tracks();
	store_to_null(); /* kills */
}

/* ---- signals that were sent ---- */

static void a_sent_signal_reaches_the_handler_as_it_was(void **state)
{
	union sigval value = { .sival_int = 4711 };

	(void)state;
	install(note, 0);
	open_tracker();
	kill(getpid(), SIGSEGV);
	assert_int_equal(calls, 1);
	assert_int_equal(seen.si_code, SI_USER);
	assert_int_equal(seen.si_pid, getpid());
	sigqueue(getpid(), SIGSEGV, value);
	assert_int_equal(calls, 2);
	assert_int_equal(seen.si_code, SI_QUEUE);
	assert_int_equal(seen.si_value.sival_int, 4711);
	raise(SIGSEGV);
	assert_int_equal(calls, 3);
	assert_int_equal(seen.si_code, SI_TKILL);
	assert_tracks();
}

static void a_sent_signal_is_ignored_where_it_was(void **state)
{
	(void)state;
	signal(SIGSEGV, SIG_IGN);
	open_tracker();
	kill(getpid(), SIGSEGV);
	raise(SIGSEGV);
	assert_tracks();
}

/* ---- handlers that come later ---- */

static struct sigaction ours;

static void chain(int sig, siginfo_t *si, void *context)
{
	if (si->si_addr != read_only) {
		ours.sa_sigaction(sig, si, context);
		return;
	}
	calls++;
	siglongjmp(back, 1);
}

static void a_later_handler_that_chains_is_fine(void **state)
{
	(void)state;
	open_tracker();
	sigaction(SIGSEGV, NULL, &ours);
	install(chain, SA_ONSTACK);
	if (!sigsetjmp(back, 1))
		store_to_read_only();
	assert_int_equal(calls, 1);
	assert_tracks();
}

static void the_handler_has_the_flags_that_hosts_demand(void **state)
{
	(void)state;
	open_tracker();
	sigaction(SIGSEGV, NULL, &ours);
	assert_true(ours.sa_flags & SA_ONSTACK);
	assert_true(ours.sa_flags & SA_SIGINFO);
	assert_true(ours.sa_flags & SA_RESTART);
	assert_false(ours.sa_flags & SA_NODEFER);
}

static volatile pid_t child;

static void fork_and_jump(int sig, siginfo_t *si, void *context)
{
	note(sig, si, context);
	child = fork();
	siglongjmp(back, 1);
}

/* Both go on out of the handler, and both track. [G7] */
static void a_handler_may_fork(void **state)
{
	int status = -1;

	(void)state;
	install(fork_and_jump, 0);
	open_tracker();
	store_to(watched);
	if (!sigsetjmp(back, 1))
		store_to_null();
	assert_int_equal(calls, 1);
	assert_tracks();
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A backend with WTRACK_CAP_NO_SIGNAL leaves the signal alone. */
static void a_backend_without_signals_installs_no_handler(void **state)
{
	struct wtrack *t = open_on(*state);
	bool promised = caps_of(t) & WTRACK_CAP_NO_SIGNAL;
	char *p = map_watched(t, 4);
	struct sigaction bus;

	touch(p, 1);
	clear_all(t);
	sigaction(SIGSEGV, NULL, &ours);
	sigaction(SIGBUS, NULL, &bus);
	assert_int_equal(ours.sa_handler == SIG_DFL &&
				 bus.sa_handler == SIG_DFL,
			 promised);
}

/* ThreadSanitizer does not follow a fork in a handler. */
static const char *lacks_fork_in_handler(void)
{
	const char *why = lacks_untouched_threads();

	return why ? why : lacks_mprotect();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_FRESH(each_foreign_fault_reaches_the_handler_of_before,
			   lacks_mprotect),
		CASE_FRESH(a_handler_without_siginfo_is_called, lacks_mprotect),
		CASE_FRESH(the_handler_runs_in_the_mask_it_asked_for,
			   lacks_mprotect),
		CASE_FRESH(nodefer_leaves_the_signal_open, lacks_mprotect),
		CASE_FRESH(a_nodefer_handler_may_fault_itself, lacks_mprotect),
		CASE_FRESH(a_handler_may_repair_and_return, lacks_mprotect),
		CASE_KILLED(a_one_shot_handler_is_called_once, SIGSEGV,
			    lacks_mprotect),
		CASE_FRESH(a_sent_signal_reaches_the_handler_as_it_was,
			   lacks_mprotect),
		CASE_FRESH(a_sent_signal_is_ignored_where_it_was,
			   lacks_mprotect),
		CASE_FRESH(a_handler_may_fork, lacks_fork_in_handler),
		CASE_FRESH(a_later_handler_that_chains_is_fine, lacks_mprotect),
		CASE_FRESH(the_handler_has_the_flags_that_hosts_demand,
			   lacks_mprotect),
		CASE_FRESH_EACH(a_backend_without_signals_installs_no_handler),
	};

	return RUN_FRESH_OR_ALL("signal_chain", cases, argc, argv);
}
