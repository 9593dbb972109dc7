/* SPDX-License-Identifier: MIT */
/*
 * support_sandbox.h: what open takes in a sandbox, and that it loses nothing.
 *
 * The names say what is hidden, and are the one place that says which backend
 * is best then.
 */
#ifndef SUPPORT_SANDBOX_H
#define SUPPORT_SANDBOX_H

#include "support.h"

#define BEST_OF_ALL     "scan"
#define WITHOUT_SCAN    "async"    /* no PAGEMAP_SCAN */
#define WITHOUT_UFFD    "mprotect" /* no userfaultfd at all */
#define WITHOUT_PAGEMAP "mprotect" /* no /proc/self/pagemap */
#define WITHOUT_ANY     "all"      /* nor mprotect(2) */

#define NOBODY 65534

/* Opens the best there is; it must be this backend. */
struct wtrack *open_in_sandbox(const char *backend, struct wtrack_info *info);

/*
 * What this thread and others store is reported, all of it, through clearings
 * and by collections that race with the stores. [G1]
 */
void assert_nothing_lost(struct wtrack *t);

/* This process is nobody's from now on, and has no capabilities. */
void become_nobody(void);

#endif
