/* SPDX-License-Identifier: MIT */
/*
 * inject.h: failures on demand at the library's kernel entries.
 *
 * For programs that want to see how they cope.  Where nothing is asked for, the
 * entries stay as they are: no look, no branch more.
 */
#ifndef WT_INJECT_H
#define WT_INJECT_H

/*
 * Reads WTRACK_FAIL, the first time; the first result is that of every call.
 * -EINVAL if it is malformed.  Under the engine's lock.
 */
int wt_inject_init(void);

/*
 * Makes the failures that `text` asks for, instead of those before; none if it
 * is empty.  -EINVAL, and none, if it is malformed.
 */
int wt_inject(const char *text);

#endif
