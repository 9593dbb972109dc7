/* SPDX-License-Identifier: MIT */
/*
 * counters.c: what an iteration did that its time does not tell: faults, TLB
 * flushes and splits of huge page mappings, as the kernel counts them: x86 by
 * itself, and the lab's kernels of arm64, which have names of their own.
 */
#include "kbench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int vmstat = -1;

/* Static, so that reading it takes no fault. */
static char text[32 * 1024];

void counters_open(void)
{
	struct counters c;

	vmstat = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
	if (vmstat < 0)
		die("/proc/vmstat: %s", strerror(errno));
	counters_read(&c);
}

/* The value of a line "NAME VALUE", where a name begins behind a newline. */
static uint64_t value_of(const char *name)
{
	const char *line = strstr(text, name);

	if (!line)
		return COUNTER_MISSING;
	return strtoull(line + strlen(name), NULL, 10);
}

void counters_read(struct counters *c)
{
	struct rusage usage;
	ssize_t n;

	text[0] = '\n';
	n = pread(vmstat, text + 1, sizeof(text) - 2, 0);
	if (n <= 0 || (size_t)n == sizeof(text) - 2)
		die("cannot read /proc/vmstat");
	text[n + 1] = '\0';
	if (getrusage(RUSAGE_SELF, &usage) != 0)
		die("getrusage: %s", strerror(errno));
	c->faults = (uint64_t)usage.ru_minflt;
	c->full = value_of("\nnr_tlb_local_flush_all ");
	c->one = value_of("\nnr_tlb_local_flush_one ");
	c->remote = value_of("\nnr_tlb_remote_flush ");
	c->splits = value_of("\nthp_split_pmd ");
	c->rounds = value_of("\nnr_wtrack_tlbi_rounds ");
	c->operations = value_of("\nnr_wtrack_tlbi_ops ");
}
