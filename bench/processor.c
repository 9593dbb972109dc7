/* SPDX-License-Identifier: MIT */
/*
 * processor.c: a second processor, for the cases that are about one.
 *
 * Where a thread of this process runs on another processor, each flush of the
 * TLB has to go there, too, and waits for it.  If that processor is lent to
 * another program, it need not: the thread asks to be preferred, and goes on
 * without where it may not.
 */
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static pthread_t busy;
static atomic_bool running, over;

bool processor_take(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

int processor_other(void)
{
	int here = sched_getcpu(), found = -1;

	for (int cpu = 0; cpu < CPU_SETSIZE && found < 0; cpu++)
		if (cpu != here && processor_take(cpu))
			found = cpu;
	if (!processor_take(here))
		bench_die("sched_setaffinity: %s", strerror(errno));
	return found;
}

static void *spin(void *cpu)
{
	const struct sched_param param = { .sched_priority = 1 };

	if (!processor_take((int)(intptr_t)cpu))
		bench_die("sched_setaffinity: %s", strerror(errno));
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) != 0)
		bench_note("the second processor may be lent to others");
	atomic_store(&running, true);
	while (!atomic_load(&over))
		;
	return NULL;
}

bool processor_keep_busy(void)
{
	int cpu = processor_other(), rc;

	if (cpu < 0)
		return false;
	atomic_store(&running, false);
	atomic_store(&over, false);
	rc = pthread_create(&busy, NULL, spin, (void *)(intptr_t)cpu);
	if (rc != 0)
		bench_die("pthread_create: %s", strerror(rc));
	while (!atomic_load(&running))
		;
	return true;
}

void processor_release(void)
{
	atomic_store(&over, true);
	pthread_join(busy, NULL);
}
