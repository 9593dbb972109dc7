/* SPDX-License-Identifier: MIT */
/*
 * bug_sigbus.c: SIGBUS that belongs to the program, in watched memory too.
 *
 * A file that is cut off under its mapping raises SIGBUS with the code and at
 * the address that a write fault of the wp backend has.  A handler that takes
 * each for its own tries the store for ever (LunarG/gfxreconstruct PR#294 hung
 * so, on SIGSEGV).  [G5]
 */
#include "support_live.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES_N 4

static sigjmp_buf back;
static volatile int calls;
static siginfo_t seen;

static void note_and_jump(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)context;
	seen = *si;
	calls++;
	siglongjmp(back, 1);
}

static void install(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = note_and_jump;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGBUS, &sa, NULL);
}

/* Only a store: to load first would raise the signal by a read. */
static void store_only(const struct mem *m, size_t page)
{
	*(volatile char *)(page_of(m, page) + 5) = 1;
}

/* Watched; the file behind it ends amid the memory. */
static struct mem cut_off(struct wtrack *t)
{
	struct mem m = mem_map(MEM_MEMFD, PAGES_N, true);

	watch_pages(t, &m, 0, PAGES_N, 0);
	assert_int_equal(ftruncate(m.fd, (off_t)(2 * m.page)), 0);
	return m;
}

static void a_file_that_is_cut_off_raises_sigbus(void **state)
{
	struct wtrack *t;
	struct mem m;

	install();
	t = open_on(*state);
	m = cut_off(t);
	for (volatile int i = 0; i < 3; i++) {
		if (!sigsetjmp(back, 1)) {
			store_only(&m, 3);
			fail();
		}
		assert_int_equal(calls, i + 1);
		assert_int_equal(seen.si_code, BUS_ADRERR);
		assert_ptr_equal(seen.si_addr, page_of(&m, 3) + 5);
	}
	/* What is there is tracked as before. */
	clear_all(t);
	store(&m, 1);
	if (is_precise(t))
		assert_int_equal(look_at(t, &m, 1), WTRACK_RUN_WRITTEN);
	wtrack_close(t);
	mem_unmap(&m);
}

static void without_a_handler_it_kills(void **state)
{
	struct wtrack *t;
	struct mem m;

	(void)state;
	t = open_on("wp");
	m = cut_off(t);
	store_only(&m, 3);
}

/* Not of watched memory at all. */
static void foreign_ones_reach_the_handler(void **state)
{
	struct wtrack *t;
	struct mem m = mem_map(MEM_MEMFD, PAGES_N, true);

	install();
	t = open_on(*state);
	assert_int_equal(ftruncate(m.fd, 0), 0);
	if (!sigsetjmp(back, 1)) {
		store_only(&m, 2);
		fail();
	}
	assert_int_equal(calls, 1);
	if (!sigsetjmp(back, 1)) {
		raise(SIGBUS);
		fail();
	}
	assert_int_equal(calls, 2);
	assert_int_equal(seen.si_code, SI_TKILL);
	wtrack_close(t);
	mem_unmap(&m);
}

/* The address of a store that faults in each epoch is no endless loop. */
static void one_address_may_fault_for_ever(void **state)
{
	struct wtrack *t = open_on(*state);
	struct mem m = mem_map(MEM_ANON, PAGES_N, true);

	watch_pages(t, &m, 0, PAGES_N, 0);
	for (int i = 0; i < 100; i++) {
		store(&m, 2);
		expect_pages(t, &m, WTRACK_GET | WTRACK_CLEAR, 2);
	}
	wtrack_close(t);
	mem_unmap(&m);
}

static const char *lacks_wp(void)
{
	return backend_error("wp") ? "the wp backend does not work" : NULL;
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_FRESH_ON_KIND(a_file_that_is_cut_off_raises_sigbus,
				   MEM_MEMFD),
		CASE_KILLED(without_a_handler_it_kills, SIGBUS, lacks_wp),
		CASE_FRESH_EACH(foreign_ones_reach_the_handler),
		CASE_EACH(one_address_may_fault_for_ever),
	};

	return RUN_FRESH_OR_ALL("sigbus", cases, argc, argv);
}
