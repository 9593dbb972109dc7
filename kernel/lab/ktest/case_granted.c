/* SPDX-License-Identifier: MIT */
/*
 * case_granted.c: write access that is given while other processors still know
 * the memory as read-only: their stores get through, and are reported.
 */
#include "ktest.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROUNDS 100

static char *memory;
static size_t pages;

/* The writer's turn while it is odd. */
static _Atomic unsigned turn;

static void wait_turn(unsigned parity)
{
	while (turn % 2 != parity)
		sched_yield();
}

/* Loads while it is read-only, so that its processor knows it as that. */
static void *writer(void *unused)
{
	(void)unused;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		for (int step = 0; step < 2; step++) {
			wait_turn(1);
			for (size_t i = 0; i < pages; i++)
				if (step == 0)
					load(memory + i * PAGE);
				else
					store(memory + i * PAGE, round);
			turn++;
		}
	}
	return NULL;
}

static void let_writer(void)
{
	turn++;
	wait_turn(0);
}

static void protect(int protection)
{
	check(mprotect(memory, pages * PAGE, protection) == 0, "mprotect: %s",
	      strerror(errno));
}

static void one_round(uint64_t round)
{
	bool by_mprotect = round % 2;

	arm(memory, pages * PAGE, true);
	if (by_mprotect)
		protect(PROT_READ);
	let_writer();
	if (by_mprotect)
		protect(PROT_READ | PROT_WRITE);
	else
		arm(memory, pages * PAGE, false);
	let_writer();
	for (size_t i = 0; i < pages; i++)
		check(load(memory + i * PAGE) == round,
		      "page %zu lacks the store of round %llu", i,
		      (unsigned long long)round);
	expect_written("given", memory, pages);
}

static void grant(enum kind kind, bool split)
{
	pthread_t thread;

	pages = kind == KIND_ANON ? 64 : HUGE_PAGES;
	memory = map(kind, pages * PAGE);
	if (kind == KIND_THP)
		populate_thp(memory, pages * PAGE);
	for (size_t i = 0; i < pages; i++)
		store(memory + i * PAGE, 0);
	if (split) {
		check(mprotect(memory, PAGE, PROT_READ) == 0, "mprotect: %s",
		      strerror(errno));
		protect(PROT_READ | PROT_WRITE);
	}
	check(pthread_create(&thread, NULL, writer, NULL) == 0, "no thread");
	for (uint64_t round = 1; round <= ROUNDS; round++)
		one_round(round);
	pthread_join(thread, NULL);
}

static void small(void)
{
	grant(KIND_ANON, false);
}

static void folded(void)
{
	grant(KIND_THP, true);
}

static void huge(void)
{
	grant(KIND_THP, false);
}

const struct test granted_tests[] = {
	{ "granted_small", small },
	{ "granted_folded", folded },
	{ "granted_huge", huge },
	{ 0 },
};
