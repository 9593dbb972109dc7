/* SPDX-License-Identifier: MIT */
/* fault.h: the process's handlers of SIGSEGV and SIGBUS. */
#ifndef WT_FAULT_H
#define WT_FAULT_H

#include <stdbool.h>

/*
 * Installs the handler of SIGSEGV or SIGBUS, once; a negative errno if it
 * cannot be.  Under the engine's lock.
 */
int wt_fault_install(int sig);

/* Whether somebody has installed another since; `sig` 0: false. */
bool wt_fault_replaced(int sig);

/*
 * Whether a store made the fault that a handler was given this context of.
 * Armed pages can be read: only a store is ours.  True where nobody can tell.
 */
bool wt_fault_is_store(const void *context);

/* Faults that were passed on to whoever was there before. */
unsigned long wt_fault_passed(void);

#endif
