/* SPDX-License-Identifier: MIT */
/*
 * beside.c: a thread on a second processor that reads memory of its own all the
 * time.
 *
 * While it runs there, each flush of the TLB that is not for this processor
 * alone has to be sent, and waited for, as in any program with threads.
 */
#include "kbench.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define OWN_BYTES (2 * MIB)

static pthread_t thread;
static atomic_bool running, over;

static int move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0 ? 0 : -errno;
}

static void *read_own_memory(void *arg)
{
	volatile const unsigned char *own = arg;
	unsigned sum = 0;
	int rc = move_to(1);

	if (rc != 0)
		die("--beside: no second processor: %s", strerror(-rc));
	atomic_store(&running, true);
	while (!atomic_load_explicit(&over, memory_order_relaxed))
		for (size_t i = 0; i < OWN_BYTES; i += PAGE)
			sum += own[i];
	return (void *)(uintptr_t)sum;
}

void beside_start(void)
{
	unsigned char *own = mmap(NULL, OWN_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rc;

	if (own == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	/* It faults no more, or its faults would be counted as ours. */
	memset(own, 1, OWN_BYTES);
	rc = move_to(0);
	if (rc != 0)
		die("--beside: %s", strerror(-rc));
	rc = pthread_create(&thread, NULL, read_own_memory, own);
	if (rc != 0)
		die("pthread_create: %s", strerror(rc));
	while (!atomic_load(&running))
		sched_yield();
}

void beside_stop(void)
{
	atomic_store(&over, true);
	pthread_join(thread, NULL);
}
