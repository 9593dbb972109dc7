/* SPDX-License-Identifier: MIT */
/*
 * wtrack-seccomp.h: what libwtrack needs of a program's own seccomp filter.
 *
 * A library of its own, libwtrack-seccomp: libwtrack does not need libseccomp.
 */
#ifndef WTRACK_SECCOMP_H
#define WTRACK_SECCOMP_H

#include <seccomp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The handles are open before the filter is loaded: no rules to open them. */
#define WTRACK_SECCOMP_OPENED 0x1u

/*
 * Adds to the filter `ctx` the rules that allow what libwtrack does on the
 * backend of this name, or, if it is NULL, on any that wtrack_open() tries
 * unasked.  The filter's default action is one that does not allow.  Enters the
 * kernel not at all: the caller loads the filter.
 * Errors: -EINVAL (also: an unknown backend, or no such filter), -EACCES (the
 * filter allows by default), -EEXIST (a rule of the filter contradicts),
 * -ENOMEM, -EDOM or -EFAULT (libseccomp).  Some rules may have been added then.
 * MT-safe for different filters; not async-signal-safe; may call malloc.
 * Since 0.1.
 */
int wtrack_seccomp_allow(scmp_filter_ctx ctx, const char *backend,
			 unsigned flags);

#ifdef __cplusplus
}
#endif
#endif
