/* SPDX-License-Identifier: MIT */
/* selftest.h: whether a backend does here what the library relies on. */
#ifndef WT_SELFTEST_H
#define WT_SELFTEST_H

#include "backend.h"

/*
 * Result of a backend's self-test, made once per process; but a shortage of
 * memory or descriptors is nobody's property: what was learnt in one holds for
 * this time only.
 */
struct wt_trial {
	bool tried;    /* and no shortage was met */
	int shortage;  /* a negative errno, or 0 */
	int result;    /* 0 or a negative errno */
	uint64_t caps; /* WTRACK_CAP_* that it has here */
};

/* Tries it if that was not done yet, or met a shortage.  Engine's lock. */
const struct wt_trial *wt_trial_of(const struct wt_backend *be,
				   const struct wtrack_options *o);

/* The result if it was tried, else one with `tried` false.  No lock. */
struct wt_trial wt_trial_result(const struct wt_backend *be);

#endif
