/* SPDX-License-Identifier: MIT */
/*
 * unit_fault_store.c: faults of stores are told from others by their context.
 *
 * The handler asks, and then lets the access go on.
 */
#include "support.h"

#include "fault.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

static struct {
	char *mem;
	bool is_store;
	int faults;
} seen;

static void on_fault(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)si;
	seen.faults++;
	seen.is_store = wt_fault_is_store(context);
	mprotect(seen.mem, page_size(), PROT_READ | PROT_WRITE);
}

/* What `access` does to a page that has `prot`: whether its fault is a store.
 */
static bool fault_of(void (*access)(char *), int prot)
{
	struct sigaction sa, old;

	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_fault;
	sa.sa_flags = SA_SIGINFO;
	seen.mem = map_pages(1);
	seen.faults = 0;
	assert_int_equal(mprotect(seen.mem, page_size(), prot), 0);
	assert_int_equal(sigaction(SIGSEGV, &sa, &old), 0);
	access(seen.mem + 64);
	assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
	assert_int_equal(seen.faults, 1);
	unmap_pages(seen.mem, 1);
	return seen.is_store;
}

static void load_from(char *p)
{
	(void)*(volatile char *)p;
}

static void store_to(char *p)
{
	*(volatile char *)p = 1;
}

static void add_to(char *p)
{
	__atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST);
}

static void exchange(char *p)
{
	char none = 0;

	__atomic_compare_exchange_n(p, &none, 1, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
}

static void clear_whole(char *p)
{
	memset(p, 0, 1024);
}

static void stores_are_told(void **state)
{
	(void)state;
	assert_true(fault_of(store_to, PROT_READ));
	assert_true(fault_of(store_to, PROT_NONE));
	assert_true(fault_of(clear_whole, PROT_READ));
}

/* They load, too; what was refused is the store. */
static void atomic_changes_are_stores(void **state)
{
	(void)state;
	assert_true(fault_of(add_to, PROT_READ));
	assert_true(fault_of(exchange, PROT_READ));
}

static const char *lacks_contexts(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	/* Valgrind makes up a context of its own. */
	return lacks_native_run();
#else
	return "nobody knows the contexts of this architecture";
#endif
}

static void loads_are_no_stores(void **state)
{
	(void)state;
	assert_false(fault_of(load_from, PROT_NONE));
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(stores_are_told),
		CASE(atomic_changes_are_stores),
		CASE_IF(loads_are_no_stores, lacks_contexts),
	};

	return RUN_CASES("fault_store", cases);
}
