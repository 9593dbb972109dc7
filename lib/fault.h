/* SPDX-License-Identifier: MIT */
/* fault.h: the process's SIGSEGV handler. */
#ifndef WT_FAULT_H
#define WT_FAULT_H

/* Installs the handler, once; a negative errno if it cannot be. */
int wt_fault_install(void);

/* Faults that were passed on to whoever was there before. */
unsigned long wt_fault_passed(void);

#endif
