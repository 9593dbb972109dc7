/* SPDX-License-Identifier: MIT */
/*
 * fault_store.c: what the processor told of a fault: whether it was a store.
 *
 * The one place that knows signal frames.  Armed pages can be read, so what is
 * known not to be a store is somebody else's fault.
 */
#include "fault.h"

#include <signal.h>
#include <ucontext.h>

#if defined(__x86_64__)

/* The error code of a page fault. */
#define ERROR_WRITE 2

bool wt_fault_is_store(const void *context)
{
	const ucontext_t *uc = context;

	return uc->uc_mcontext.gregs[REG_ERR] & ERROR_WRITE;
}

#elif defined(__aarch64__)

/* The syndrome of a data abort: made by a store, or by cache maintenance. */
#define SYNDROME_WRITE 0x40
#define SYNDROME_CACHE 0x100

/*
 * The frame has records, each with its size; one without ends them.  That of
 * the syndrome is there for faults only.  Without it the table of ranges
 * decides alone.
 */
bool wt_fault_is_store(const void *context)
{
	const ucontext_t *uc = context;
	const unsigned char *at = uc->uc_mcontext.__reserved;
	const unsigned char *end = at + sizeof(uc->uc_mcontext.__reserved);

	while (end - at >= (long)sizeof(struct esr_context)) {
		const struct esr_context *record = (const void *)at;

		if (record->head.magic == ESR_MAGIC)
			return (record->esr & SYNDROME_WRITE) &&
			       !(record->esr & SYNDROME_CACHE);
		if (!record->head.size || record->head.size > end - at)
			break;
		at += record->head.size;
	}
	return true;
}

#else

/* Not known: the table of ranges decides alone. */
bool wt_fault_is_store(const void *context)
{
	(void)context;
	return true;
}

#endif
