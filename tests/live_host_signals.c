/* SPDX-License-Identifier: MIT */
/*
 * live_host_signals.c: programs that own SIGSEGV and SIGBUS, and programs that
 * install another handler where the library's was.  [G5]
 */
#include "support_faults.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The backend's name is the case's state where it is played on each. */
static void open_hosted(const char *backend)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;

	options.backend = backend;
	options.flags = WTRACK_OPEN_HOST_SIGNALS;
	assert_int_equal(wtrack_open(&options, &tracker), 0);
}

static volatile int handled;

static void host(int sig, siginfo_t *si, void *context)
{
	int rc;

	errno = 55;
	rc = wtrack_handle_fault(sig, si, context);
	if (errno != 55 || rc < 0)
		_exit(EXIT_FAILURE);
	handled += rc;
	if (!rc)
		note_and_jump(sig, si, context);
}

static void install_on(int sig, void (*f)(int, siginfo_t *, void *))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = f;
	sa.sa_flags = SA_SIGINFO;
	sigaction(sig, &sa, NULL);
}

static void install_host(void)
{
	install_on(SIGSEGV, host);
	install_on(SIGBUS, host);
}

static bool is_on_top(int sig, void (*f)(int, siginfo_t *, void *))
{
	struct sigaction now;

	sigaction(sig, NULL, &now);
	return now.sa_sigaction == f;
}

static void a_host_keeps_its_signals(void **state)
{
	uint64_t caps;

	install_host();
	open_hosted(*state);
	caps = caps_of(tracker);
	watched = map_watched(tracker, 8);
	assert_true(is_on_top(SIGSEGV, host));
	assert_true(is_on_top(SIGBUS, host));
	handled = 0;
	touch(watched, 2);
	touch(watched, 5);
	if (!(caps & WTRACK_CAP_NO_SIGNAL))
		assert_int_equal(handled, 2);
	if (caps & WTRACK_CAP_PRECISE)
		assert_dirty(tracker, watched, 2, 5);
	if (!sigsetjmp(back, 1))
		store_to_null();
	assert_int_equal(calls, 1);
	wtrack_close(tracker);
	assert_true(is_on_top(SIGSEGV, host));
}

/* A second handle that is not hosted gets a handler, even so. */
static void a_guest_beside_a_host_gets_a_handler(void **state)
{
	struct wtrack *hosted;

	(void)state;
	install_host();
	open_hosted("mprotect");
	hosted = tracker;
	assert_true(is_on_top(SIGSEGV, host));
	open_tracker();
	assert_false(is_on_top(SIGSEGV, host));
	handled = 0;
	assert_tracks();
	assert_int_equal(handled, 0);
	wtrack_close(hosted);
	assert_tracks();
}

static void only_faults_are_handled(void **state)
{
	siginfo_t si;
	int context; /* not looked at */

	(void)state;
	memset(&si, 0, sizeof(si));
	assert_int_equal(wtrack_handle_fault(SIGUSR1, &si, &context), -EINVAL);
	assert_int_equal(wtrack_handle_fault(SIGSEGV, NULL, &context), -EINVAL);
	assert_int_equal(wtrack_handle_fault(SIGSEGV, &si, NULL), -EINVAL);
	/* Sent by somebody, or of an address that is nobody's. */
	assert_int_equal(wtrack_handle_fault(SIGSEGV, &si, &context), 0);
	assert_int_equal(wtrack_handle_fault(SIGBUS, &si, &context), 0);
}

static int handler_state(void)
{
	struct wtrack_info info = { .size = sizeof(info) };

	assert_int_equal(wtrack_info(tracker, &info), 0);
	return info.handler;
}

static void chain_by_hand(int sig, siginfo_t *si, void *context)
{
	if (wtrack_handle_fault(sig, si, context) != 1)
		_exit(EXIT_FAILURE);
	calls++;
}

static void a_replaced_handler_is_noticed(void **state)
{
	struct wtrack_run runs[4];
	struct sigaction ours;

	(void)state;
	open_tracker();
	assert_int_equal(handler_state(), 0);
	sigaction(SIGSEGV, NULL, &ours);
	install(chain_by_hand, 0);
	assert_int_equal(stats_of(tracker).handler_replaced, 0);
	assert_int_equal(wtrack_collect(tracker, NULL, runs, 4,
					WTRACK_GET | WTRACK_CLEAR),
			 0);
	assert_int_equal(stats_of(tracker).handler_replaced, 1);
	assert_int_equal(wtrack_unwatch(tracker, watched, page_size()), 0);
	assert_int_equal(wtrack_watch(tracker, watched, page_size(), 0), 0);
	assert_int_equal(stats_of(tracker).handler_replaced, 2);
	assert_int_equal(handler_state(), -EBUSY);
	/* It stays where it is: it may pass on what is ours. */
	assert_tracks();
	assert_int_equal(calls, 1);
	sigaction(SIGSEGV, &ours, NULL);
	assert_int_equal(handler_state(), 0);
}

static void a_host_is_not_called_replaced(void **state)
{
	(void)state;
	install_host();
	open_hosted("mprotect");
	assert_int_equal(handler_state(), 0);
	clear_all(tracker);
	assert_int_equal(stats_of(tracker).handler_replaced, 0);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_FRESH_EACH(a_host_keeps_its_signals),
		CASE_FRESH(a_guest_beside_a_host_gets_a_handler,
			   lacks_mprotect),
		CASE_FRESH(only_faults_are_handled, NULL),
		CASE_FRESH(a_replaced_handler_is_noticed, lacks_mprotect),
		CASE_FRESH(a_host_is_not_called_replaced, lacks_mprotect),
	};

	return RUN_FRESH_OR_ALL("host_signals", cases, argc, argv);
}
