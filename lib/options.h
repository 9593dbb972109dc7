/* SPDX-License-Identifier: MIT */
/* options.h: structs that begin with their size, and the environment. */
#ifndef WT_OPTIONS_H
#define WT_OPTIONS_H

#include "wtrack.h"

/*
 * Reads the caller's options, of any size, into `out`; WTRACK_BACKEND wins
 * over the option.  -EINVAL, -E2BIG (what is set is unknown here).
 */
int wt_options_read(const struct wtrack_options *opts,
		    struct wtrack_options *out);

/*
 * Copies the caller's struct to `out` of `known` bytes, zeroes where it has
 * less.  -EINVAL (it has no size), -E2BIG (what is set is unknown here).
 */
int wt_struct_take(const void *from, void *out, size_t known);

/*
 * Copies `from` (with its `size` set to its own size) to the caller's struct of
 * another size: what fits, and zeroes behind.  -EINVAL if that has no room for
 * more than the size.
 */
int wt_struct_give(void *to, const void *from);

#endif
