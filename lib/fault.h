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

/* Faults that were passed on to whoever was there before. */
unsigned long wt_fault_passed(void);

#endif
