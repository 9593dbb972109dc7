/* SPDX-License-Identifier: MIT */
/*
 * wtrack.h: which of my own memory pages were written since I last asked?
 *
 * This header is the whole contract; wtrack(7) is its long form.  Read the
 * caveats there first: memory written by devices through pinned pages, or
 * through another mapping of the same file, is not seen by any backend.
 *
 * Words.  A *handle* is one consumer of write information.  It *watches*
 * ranges of pages.  A page is *dirty* if it was written since it was last
 * cleared in its handle.  A *run* is a stretch of adjacent dirty pages.  An
 * *epoch* is what lies between two clearing passes over a handle.
 *
 * Guarantees, tagged where code and tests keep them:
 *  [G1] Nothing lost: a store that happened before a collection started is
 *       reported by it, or was by an earlier one; a store that races with it
 *       is reported by this one or the next.  Read a page's contents only
 *       after the collection that reported it has returned.
 *  [G2] A superset, and said so: a page reported without having been written
 *       is marked in its run's flags.
 *  [G3] Never silent: a failure is a negative errno with nothing consumed, or
 *       a marked superset.  "Nothing written" is only said when it is known.
 *  [G4] Safe with the world stopped: collecting takes no lock that another
 *       thread may hold and allocates nothing.
 *  [G5] A good citizen in the fault path: only own faults are claimed.
 *  [G6] Exact truncation: pages that did not fit keep their state.
 *  [G7] fork: the parent notices nothing; in the child everything is dirty
 *       once and then tracked, or is always dirty and marked so.
 *  [G8] Bounded cost: at most one fault per page and epoch.
 *
 * Errors are returned as negative errno values; errno itself is neither set
 * nor changed.  Every function may be called by any thread.  No function
 * calls malloc, prints, aborts or starts a thread; but to open the backend
 * "monitor", which is taken only on request, starts one and so allocates.
 */
#ifndef WTRACK_H
#define WTRACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WTRACK_VERSION_MAJOR 0
#define WTRACK_VERSION_MINOR 1
#define WTRACK_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

struct wtrack;
struct wtrack_snapshot;

/* What a backend can do: `require` asks for it, wtrack_info() tells. */
#define WTRACK_CAP_PRECISE       0x01u /* only written pages, or marked */
#define WTRACK_CAP_KERNEL_WRITES 0x02u /* read(2) into watched memory works */
#define WTRACK_CAP_DISCARD       0x04u /* MADV_DONTNEED (anonymous) is dirty */
#define WTRACK_CAP_LOSS          0x08u /* replaced mappings are detected */
#define WTRACK_CAP_NO_SIGNAL     0x10u /* installs no signal handler */
#define WTRACK_CAP_FILES         0x20u /* watches mappings of regular files */
#define WTRACK_CAP_PROTECT       0x40u /* the program may mprotect(2) as well */
#define WTRACK_CAP_CONCURRENT    0x80u /* clears while other threads write */

/* The program's own handlers call wtrack_handle_fault(): install none. */
#define WTRACK_OPEN_HOST_SIGNALS 0x1u
/* A backend that starts a thread ("monitor") may be taken. */
#define WTRACK_OPEN_THREAD 0x2u

/*
 * When a page that was found dirty is armed again, so that its next store is
 * noticed.  `exact`: always, at the price of a fault for each page and epoch.
 * The others leave hot pages un-armed and report them as WTRACK_RUN_PRESUMED
 * until a re-check finds them clean; the two differ in what is 0 below.
 */
#define WTRACK_POLICY_EXACT 0u
/* For who looks through dirty pages again: after 1, 8 to 64, 1500 ns. */
#define WTRACK_POLICY_RESCAN 1u
/* For who copies them: after 2, 2 to 16, 4000 ns. */
#define WTRACK_POLICY_COPY 2u

struct wtrack_policy {
	size_t size;    /* sizeof(struct wtrack_policy) */
	uint32_t kind;  /* WTRACK_POLICY_* */
	uint32_t after; /* hot: dirty in so many epochs running; 1 to 4 */
	/* Epochs until a re-check, doubled while it finds the page dirty. */
	uint32_t from;    /* at first: a power of two, 2 to 1024 */
	uint32_t to;      /* at most: a power of two, up to 128 times `from` */
	uint32_t page_ns; /* what a false page costs the consumer */
};
#define WTRACK_POLICY_INIT(kind)                                 \
	{                                                        \
		sizeof(struct wtrack_policy), (kind), 0, 0, 0, 0 \
	}

/*
 * Options of wtrack_open().  All zero but `size` means the defaults.  A
 * shorter structure is accepted, a longer one if what is unknown is zero.
 */
struct wtrack_options {
	size_t size;      /* sizeof(struct wtrack_options) */
	uint64_t flags;   /* WTRACK_OPEN_* */
	uint64_t require; /* WTRACK_CAP_* the backend must have */
	/*
	 * "scan", "async", "wp", "monitor", "mprotect", "all"; NULL: the
	 * best.  Only on request: "softdirty", which takes the bits from
	 * other users.
	 */
	const char *backend;
	/*
	 * Bytes that one store makes dirty: a power of two, from the page size
	 * (or 0) to 2 MiB, which keeps huge pages of that size whole.  More
	 * than a page: not "scan", "async" or "softdirty".
	 */
	size_t grain;
	/* Of what the handle watches, see wtrack_set_policy(); NULL: exact. */
	const struct wtrack_policy *policy;
};
#define WTRACK_OPTIONS_INIT                                        \
	{                                                          \
		sizeof(struct wtrack_options), 0, 0, NULL, 0, NULL \
	}

/*
 * Opens a handle on the best backend that passes its self-test here, or on
 * the one that the environment variable WTRACK_BACKEND (ignored in setuid
 * programs) or `opts->backend` names.  `opts` may be NULL.
 * Errors: -EINVAL (also: WTRACK_FAIL is malformed), -E2BIG (unknown option
 * set), -EOPNOTSUPP (the named backend does not work here, or none has what
 * `require` asks), -ENOMEM, -EMFILE or -ENFILE (no memory or descriptors to
 * try it).
 * Not async-signal-safe.  Since 0.1.
 */
int wtrack_open(const struct wtrack_options *opts, struct wtrack **out);

/*
 * Unwatches everything and frees the handle; NULL is a no-op.  No other
 * thread may use the handle any more.  Not async-signal-safe.  Since 0.1.
 */
void wtrack_close(struct wtrack *t);

/* Start with every page dirty (WTRACK_RUN_INITIAL) instead of clean. */
#define WTRACK_WATCH_DIRTY 0x1u
/*
 * Promise: none of it is discarded (MADV_DONTNEED and the like), replaced or
 * re-protected while it is watched, or wtrack_mark() tells at once.  Then "wp",
 * "monitor" and "mprotect" collect in the time of what is dirty, whatever is
 * watched.  A store after a broken promise may be lost.
 */
#define WTRACK_WATCH_STABLE 0x2u

/*
 * Watches the pages of [addr, addr + len), in bytes, both multiples of the
 * page size (of the huge page size for hugetlb).  The range must be mapped.
 * Errors: -EINVAL (also: a kind of mapping that can't be watched), -ENOMEM (not
 * mapped, or no memory, or vm.max_map_count reached), -EEXIST (part is watched
 * by this handle), -EBUSY (by another handle or another userfaultfd), -EACCES
 * or -EPERM (the backend may not change the protection: sealed memory), -EBADF
 * (somebody closed the library's descriptors).
 * Nothing is changed on error.  Not async-signal-safe.  Since 0.1.
 */
int wtrack_watch(struct wtrack *t, void *addr, size_t len, unsigned flags);

/*
 * Stops watching [addr, addr + len), which may span ranges and parts of them;
 * what was dirty there is forgotten.
 * Errors: -EINVAL, -ENOENT (part is not watched by this handle), -ENOMEM,
 * -EPERM (sealed since: its protection cannot be given back).
 * Nothing is changed on error.  Not async-signal-safe.  Since 0.1.
 */
int wtrack_unwatch(struct wtrack *t, void *addr, size_t len);

/* Why a run is reported.  Without WRITTEN, it may not have been written. */
#define WTRACK_RUN_INITIAL   0x01u /* not cleared since watched or forked */
#define WTRACK_RUN_WRITTEN   0x02u /* was written, at the range's grain */
#define WTRACK_RUN_LOST      0x04u /* mapping was replaced: watch it again */
#define WTRACK_RUN_DEGRADED  0x08u /* precision given up: limits, errors */
#define WTRACK_RUN_UNTRACKED 0x10u /* this backend tracks nothing */
#define WTRACK_RUN_COARSE    0x20u /* one store dirties more than a page */
#define WTRACK_RUN_PRESUMED  0x40u /* left un-armed by policy or advice */

/* Dirty pages [start, end), as addresses. */
struct wtrack_run {
	uintptr_t start;
	uintptr_t end;
	uint64_t flags; /* WTRACK_RUN_* */
};

/*
 * Where a collection stands.  All zero: at the start of the handle.  To
 * collect a part, set `next` and `end` to its bounds (end 0: no bound).
 */
struct wtrack_cursor {
	uintptr_t next;
	uintptr_t end;
	uint64_t share;    /* 0, or of a pass: set by wtrack_split() */
	uint64_t reserved; /* 0 */
};
#define WTRACK_CURSOR_INIT \
	{                  \
		0, 0, 0, 0 \
	}

#define WTRACK_GET     0x1u /* report dirty pages */
#define WTRACK_CLEAR   0x2u /* what was reported becomes clean */
#define WTRACK_STOPPED 0x4u /* promise: no thread writes meanwhile */

/*
 * Reports up to `nruns` runs of dirty pages from `at` on, ascending, and
 * moves `at` behind them.  Fewer than `nruns` means that the end is reached.
 * Runs never overlap; two that touch differ in their flags.  With `at` NULL
 * the collection starts at the beginning each time.  WTRACK_GET alone changes
 * nothing; GET | CLEAR makes clean exactly what it reports [G6]; CLEAR alone
 * makes all clean and returns 0 (`runs` is not used).  Without
 * WTRACK_CAP_CONCURRENT, to make clean takes WTRACK_STOPPED or a process of one
 * thread; what stays dirty for lack of it is marked WTRACK_RUN_DEGRADED.
 * Returns the number of runs.  Errors: -EINVAL.
 * Safe with other threads stopped anywhere [G4]; not async-signal-safe.
 * Uses up to 4 KiB of stack, 8 under a policy other than exact.  Since 0.1.
 */
ssize_t wtrack_collect(struct wtrack *t, struct wtrack_cursor *at,
		       struct wtrack_run *runs, size_t nruns, unsigned flags);

/*
 * Cuts what `at` has left (NULL: the whole handle) into up to `n` cursors of
 * about equal watched bytes, for threads that collect at the same time: each
 * page belongs to one.  Cuts lie at multiples of what a page table maps: 2 MiB
 * where pages are of 4 KiB.  A pass is complete when all of them are.  Returns
 * how many there are; 0: nothing is watched there.  Errors: -EINVAL.  Since
 * 0.1.
 */
ssize_t wtrack_split(struct wtrack *t, const struct wtrack_cursor *at,
		     struct wtrack_cursor *parts, size_t n);

/*
 * Makes clean exactly the given runs, which a look (WTRACK_GET) reported, in
 * ascending order: a look and a clearing of all that it reported equal one
 * collection of both.  The policy decides what of it is armed.  Threads may
 * write meanwhile, if contents are read after this has returned.  What is not
 * watched any more, or reported as lost, is passed over.  What cannot be made
 * clean stays dirty, and the rest is done.
 * Errors: -EINVAL (nothing was done), -EAGAIN (no WTRACK_CAP_CONCURRENT, and
 * other threads), -ENOENT (lost since), -ENOMEM, -EPERM, -EACCES or -EBADF.
 * Safe with other threads stopped anywhere [G4]; not async-signal-safe.
 * Since 0.1.
 */
int wtrack_clear(struct wtrack *t, const struct wtrack_run *runs, size_t n);

/*
 * Sets the policy of the watched [addr, addr + len), in whole pages, or with
 * `addr` NULL and `len` 0 that of the handle: of all it watches and will watch.
 * Pages that were left un-armed stay presumed until they are armed.
 * Errors: -EINVAL, -E2BIG (unknown field set), -ENOENT (part is not watched),
 * -ENOMEM.  Nothing is changed on error.  Not async-signal-safe.  Since 0.1.
 */
int wtrack_set_policy(struct wtrack *t, void *addr, size_t len,
		      const struct wtrack_policy *policy);

/* Leave un-armed: will be written.  Dirty, presumed, until other advice. */
#define WTRACK_ADVISE_WRITES 1
/* Arm now, hot or not, and make clean: contents are read after the return. */
#define WTRACK_ADVISE_ARM 2
/* The policy decides again. */
#define WTRACK_ADVISE_NORMAL 3

/*
 * Tells what will be done with the watched pages that contain
 * [addr, addr + len).  To leave pages un-armed until they are next cleared is
 * wtrack_mark(), or WTRACK_WATCH_DIRTY for a whole range.
 * Errors: -EINVAL, -ENOENT (part is not watched, or not any more), -ENOMEM,
 * -EAGAIN, -EPERM, -EACCES or -EBADF, as above.
 * Not async-signal-safe.  Since 0.1.
 */
int wtrack_advise(struct wtrack *t, void *addr, size_t len, int advice);

/*
 * Makes dirty the pages that contain [addr, addr + len): for stores that no
 * backend can see.  Errors: -EINVAL, -ENOENT (part is not watched, or not any
 * more), -ENOMEM, -EPERM, -EACCES or -EBADF, as above.  Since 0.1.
 */
int wtrack_mark(struct wtrack *t, const void *addr, size_t len);

/*
 * Makes the pages that contain [addr, addr + len) dirty and writable where
 * the backend would otherwise let a system call that stores there fail with
 * EFAULT (no WTRACK_CAP_KERNEL_WRITES); else does nothing.  Holds until the
 * next clearing.  Memory that is not watched is left alone.
 * Errors: -EINVAL, -ENOMEM, -EPERM (sealed), -EACCES (replaced by memory that
 * cannot be written).  Since 0.1.
 */
int wtrack_prepare_write(struct wtrack *t, void *addr, size_t len);

#define WTRACK_RANGE_INITIAL 0x1u /* addr: dirty since watched or forked */
#define WTRACK_RANGE_LOST    0x2u /* mapping at addr was replaced or is gone */
#define WTRACK_RANGE_COARSE  0x4u /* one store dirties more than a page */
#define WTRACK_RANGE_UNARMED 0x8u /* addr: left so by policy or advice */

struct wtrack_range_info {
	size_t size; /* sizeof(struct wtrack_range_info), set by the caller */
	uintptr_t start;
	uintptr_t end;
	size_t grain;    /* bytes that one store makes dirty */
	uint64_t flags;  /* WTRACK_RANGE_* */
	uint32_t policy; /* WTRACK_POLICY_*, and what is not 0 of the others: */
	uint32_t after;
	uint32_t from;
	uint32_t to;
	uint32_t page_ns;
	uint32_t reserved; /* 0 */
};

/*
 * Tells about the range that contains `addr`, alike neighbours included.  With
 * `info` NULL it only looks up whether `addr` is watched, without a system
 * call; then it is async-signal-safe.  Errors: -EINVAL, -ENOENT (not watched).
 * Since 0.1.
 */
int wtrack_query(struct wtrack *t, const void *addr,
		 struct wtrack_range_info *info);

/* Result of a door (a way into the kernel) that was not tried. */
#define WTRACK_NOT_TRIED 1

struct wtrack_info {
	size_t size;         /* sizeof(struct wtrack_info), set by the caller */
	const char *backend; /* static string */
	uint64_t caps;       /* WTRACK_CAP_* */
	size_t page_size;    /* bytes */
	uint64_t epoch;      /* clearing passes completed */
	/* 0, a negative errno, or WTRACK_NOT_TRIED, for each door: */
	int door_device;   /* /dev/userfaultfd */
	int door_syscall;  /* userfaultfd(2) */
	int door_user;     /* userfaultfd(2) with UFFD_USER_MODE_ONLY */
	int door_pagemap;  /* /proc/self/pagemap */
	int door_selftest; /* the scan backend's self-test */
	int door_signal;   /* SIGSEGV and the mprotect backend's self-test */
	int handler; /* -EBUSY: another signal handler was installed later */
	uint32_t policy; /* WTRACK_POLICY_* of what is watched from now on */
	/* What the policy reckons with, measured once; ns, 0: not measured. */
	uint32_t fault_ns;    /* the first store to an armed page */
	uint32_t arm_ns;      /* arming one page by itself */
	uint32_t arm_page_ns; /* each further page that touches it */
	uint32_t fused_ns;    /* a fused look and clearing, per page table */
	uint32_t call_ns;     /* and the call itself */
	uint32_t look_ns;     /* a look alone, per page table */
	uint32_t reserved;    /* 0 */
};

/*
 * Tells what the handle works with and, for each door, why not.
 * Errors: -EINVAL.  Since 0.1.
 */
int wtrack_info(struct wtrack *t, struct wtrack_info *info);

/* A backend, as wtrack_probe() found it. */
struct wtrack_probe_backend {
	const char *name; /* static string; NULL behind the last */
	uint64_t caps;    /* WTRACK_CAP_* that it has here; 0: none */
	int result;       /* of its self-test, as below */
	int reserved;     /* 0 */
};

#define WTRACK_PROBE_BACKENDS 8

struct wtrack_probe {
	size_t size; /* sizeof(struct wtrack_probe), set by the caller */
	const char *backend; /* that open would take; static; NULL: it fails */
	uint64_t caps;       /* WTRACK_CAP_* that it has here */
	int open;            /* 0, or the negative errno that open would give */
	/* From here on 0, a negative errno, or WTRACK_NOT_TRIED. */
	int door_device;         /* /dev/userfaultfd */
	int door_syscall;        /* userfaultfd(2) */
	int door_user;           /* userfaultfd(2) with UFFD_USER_MODE_ONLY */
	int door_pagemap;        /* /proc/self/pagemap */
	int door_clear_refs;     /* /proc/self/clear_refs, opened to write */
	int door_sigsegv;        /* SIGSEGV: a handler would be reached */
	int door_sigbus;         /* SIGBUS, likewise */
	int uffd_wp;             /* UFFDIO_WRITEPROTECT */
	int uffd_wp_unpopulated; /* the same where no page is yet */
	int uffd_wp_async;       /* a store goes on, resolved by the kernel */
	int uffd_wp_shmem;       /* write protection of shared memory */
	int uffd_wp_hugetlb;     /* of huge pages of 2 MiB */
	int uffd_sigbus;         /* a store there is SIGBUS, or EFAULT */
	int pagemap_scan;        /* PAGEMAP_SCAN */
	int pagemap_uffd_wp;     /* bit 57 of a pagemap entry */
	int discarded_page;      /* MADV_DONTNEED reads as written */
	int discarded_block;     /* where there is not even a page table, too */
	int procmap_query;       /* PROCMAP_QUERY */
	int soft_dirty_set;   /* bit 55 of the entry of a page just written */
	int soft_dirty_clear; /* never tried: it would disturb others */
	int mprotect;         /* a page made read-only is so, and back */
	struct wtrack_probe_backend backends[WTRACK_PROBE_BACKENDS];
};

/*
 * Tries each way into the kernel and each behaviour of it, by itself, on memory
 * and descriptors of its own, and runs the self-test of every backend that open
 * would try: handlers that these install stay.
 * Errors: -EINVAL (also: WTRACK_FAIL is malformed), -ENOMEM.
 * Not async-signal-safe.  Since 0.1.
 */
int wtrack_probe(struct wtrack_probe *probe);

struct wtrack_stats {
	size_t size; /* sizeof(struct wtrack_stats), set by the caller */
	uint64_t collections;   /* wtrack_collect() calls */
	uint64_t runs;          /* runs that they reported */
	uint64_t kernel_calls;  /* system calls made to collect and to arm */
	uint64_t faults;        /* write faults handled by this library */
	uint64_t faults_passed; /* foreign faults passed on, process-wide */
	uint64_t widened;       /* times a fault un-protected neighbours too */
	uint64_t degraded;      /* times precision was given up for a range */
	uint64_t lost;          /* times a lost registration was found */
	uint64_t ranges;        /* watched now; alike neighbours are one */
	uint64_t watched_bytes; /* watched now */
	uint64_t memory_bytes;  /* mapped by the library for this handle */
	uint64_t handler_replaced; /* calls that found another signal handler */
	/* Of policies other than exact, in pages (of the range's grain): */
	uint64_t presumed;       /* reported so by clearing collections */
	uint64_t faults_avoided; /* left un-armed, each once an epoch */
	uint64_t rechecks;       /* armed again to see whether still hot */
	uint64_t rechecks_dirty; /* and written in the next epoch */
	uint64_t rechecks_clean; /* and not: it was presumed falsely */
	uint64_t deferred;       /* put off, since other ways cost more */
	/* Arming calls, by kind. */
	uint64_t arms_run;     /* one for a run of pages */
	uint64_t arms_wide;    /* one over clean pages too: WTRACK_STOPPED */
	uint64_t arms_fused;   /* a look and clearing in one */
	uint64_t policy_exact; /* times exact, for lack of memory for state */
	uint64_t policy_bytes; /* state in use, process-wide */
};

/*
 * Counts since the handle was opened; not a snapshot in time.
 * Errors: -EINVAL.  Since 0.1.
 */
int wtrack_stats(struct wtrack *t, struct wtrack_stats *stats);

/*
 * Collects and clears the whole handle into `*s`, a new object if it is NULL,
 * else reused.  When memory runs out, the rest is one run marked
 * WTRACK_RUN_DEGRADED; nothing is lost.  The object is not shared between
 * threads while it is written.
 * Errors: -EINVAL, -ENOMEM (no object; nothing consumed).  Since 0.1.
 */
int wtrack_snapshot(struct wtrack *t, struct wtrack_snapshot **s);

/* Stores the next run and returns 1, or 0 at the end; -EINVAL.  Since 0.1. */
int wtrack_snapshot_next(struct wtrack_snapshot *s, struct wtrack_run *run);

/* Goes back before the first run.  Since 0.1. */
void wtrack_snapshot_rewind(struct wtrack_snapshot *s);

/* 1 if `addr` lies in a dirty page, else 0.  Since 0.1. */
int wtrack_snapshot_contains(const struct wtrack_snapshot *s, const void *addr);

/* The number of dirty pages.  Since 0.1. */
size_t wtrack_snapshot_pages(const struct wtrack_snapshot *s);

/* The number of the epoch that the snapshot ended.  Since 0.1. */
uint64_t wtrack_snapshot_epoch(const struct wtrack_snapshot *s);

/* Frees the object; NULL is a no-op.  Since 0.1. */
void wtrack_snapshot_free(struct wtrack_snapshot *s);

/*
 * For programs that own SIGSEGV and SIGBUS (WTRACK_OPEN_HOST_SIGNALS): resolves
 * a write fault in watched memory.  Their handlers call it first, with what
 * they were given (siginfo_t and ucontext_t), and return at once if it returns
 * 1; 0 is somebody else's fault.  They must be installed before the first
 * wtrack_open(). Errors: -EINVAL (another signal, or NULL).  Async-signal-safe.
 * Since 0.1.
 */
int wtrack_handle_fault(int sig, void *siginfo, void *context);

#ifdef __cplusplus
}
#endif
#endif
