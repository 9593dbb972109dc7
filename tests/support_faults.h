/* SPDX-License-Identifier: MIT */
/* support_faults.h: faults that are not the library's, and who handles them. */
#ifndef SUPPORT_FAULTS_H
#define SUPPORT_FAULTS_H

#include "support.h"

#include <signal.h>

/* A tracker on mprotect with four watched pages, and memory of others. */
extern struct wtrack *tracker;
extern char *watched;
extern char *read_only;
extern char *no_access;
void open_tracker(void);

/* A store that the compiler keeps. */
void store_to(char *p);

/* Each raises SIGSEGV, and none is the library's. */
extern void (*const faults[])(void);
#define N_FAULTS 7
void store_to_null(void);
void store_to_read_only(void);

/* Stores are still seen. */
void assert_tracks(void);

/* ---- a handler of the program's own ---- */

extern sigjmp_buf back;
extern volatile int calls;
extern siginfo_t seen;
extern sigset_t seen_mask;

void note(int sig, siginfo_t *si, void *context);
void note_and_jump(int sig, siginfo_t *si, void *context);
/* With SA_SIGINFO, `flags`, and SIGUSR1 in its mask. */
void install(void (*f)(int, siginfo_t *, void *), int flags);

#endif
