/* SPDX-License-Identifier: MIT */
/*
 * nomalloc.h: an allocator that aborts in a thread that may not allocate.
 *
 * A program gets it by linking nomalloc.c, but not in a sanitizer's build,
 * where the sanitizer has taken these functions: OWN_MALLOC is 0.
 */
#ifndef NOMALLOC_H
#define NOMALLOC_H

#include <stdbool.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_MALLOC 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#endif
#ifndef OWN_MALLOC
#define OWN_MALLOC 1
#endif

/* Per thread; a fork child inherits it. */
extern _Thread_local volatile bool may_allocate;

/* Prints the TAP line of a case on a backend; returns 1 if it failed. */
int report(int number, const char *backend, int rc);
/* Prints whether a child that allocates though it may not is aborted. */
int report_trap(int number);

#endif
