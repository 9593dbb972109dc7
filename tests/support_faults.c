/* SPDX-License-Identifier: MIT */
/* support_faults.c: faults that are not the library's, and a handler. */
#include "support_faults.h"

#include <string.h>
#include <sys/mman.h>

struct wtrack *tracker;
char *watched;
char *read_only;
char *no_access;

sigjmp_buf back;
volatile int calls;
siginfo_t seen;
sigset_t seen_mask;

void open_tracker(void)
{
	tracker = open_on("mprotect");
	watched = map_watched(tracker, 4);
	read_only = map_pages(1);
	no_access = map_pages(1);
	mprotect(read_only, page_size(), PROT_READ);
	mprotect(no_access, page_size(), PROT_NONE);
}

void assert_tracks(void)
{
	clear_all(tracker);
	store_to(watched + 3 * page_size());
	assert_dirty(tracker, watched, 3);
}

/* ---- faults ---- */

void store_to(char *p)
{
	*(volatile char *)p = 1;
}

void store_to_null(void)
{
	static char *volatile nothing = (char *)8; /* compilers see 8 */

	store_to(nothing);
}

void store_to_read_only(void)
{
	store_to(read_only);
}

static void load_from_no_access(void)
{
	(void)*(volatile char *)no_access;
}

static void store_to_no_access(void)
{
	store_to(no_access);
}

/* Watched, and read-only already when it was. */
static void store_to_watched_read_only(void)
{
	size_t page = page_size();

	assert_int_equal(wtrack_unwatch(tracker, watched, page), 0);
	mprotect(watched, page, PROT_READ);
	assert_int_equal(wtrack_watch(tracker, watched, page, 0), 0);
	store_to(watched);
}

static void load_from_watched_no_access(void)
{
	mprotect(watched + page_size(), page_size(), PROT_NONE);
	(void)*(volatile char *)(watched + page_size());
}

static void jump_to_data(void)
{
	((void (*)(void))(uintptr_t)read_only)();
}

void (*const faults[N_FAULTS])(void) = {
	store_to_null,
	store_to_read_only,
	load_from_no_access,
	store_to_no_access,
	store_to_watched_read_only,
	load_from_watched_no_access,
	jump_to_data,
};

/* ---- the handler ---- */

void note(int sig, siginfo_t *si, void *context)
{
	(void)context;
	calls += sig == SIGSEGV;
	seen = *si;
	sigprocmask(SIG_BLOCK, NULL, &seen_mask);
}

void note_and_jump(int sig, siginfo_t *si, void *context)
{
	note(sig, si, context);
	siglongjmp(back, 1);
}

void install(void (*f)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = f;
	sa.sa_flags = SA_SIGINFO | flags;
	sigemptyset(&sa.sa_mask);
	sigaddset(&sa.sa_mask, SIGUSR1);
	assert_int_equal(sigaction(SIGSEGV, &sa, NULL), 0);
}
