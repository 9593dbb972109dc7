/* SPDX-License-Identifier: MIT */
/*
 * seccomp_rules.c: the one table of what each backend asks of the kernel.
 *
 * Rows follow sys.c, then what libc and liburcu do on the library's behalf.
 * Arguments are looked at where a value is known: never addresses, which a
 * filter cannot follow, so a file to be opened is told only by its flags.
 */
#include "seccomp_rules.h"
#include "uapi.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>

#define OPENING WT_TO_OPEN
#define RUNNING (WT_TO_OPEN | WT_TO_RUN)

/* Rooms that share a mechanism. */
#define SYNC    (WT_FOR_WP | WT_FOR_MONITOR)
#define READ    (WT_FOR_ASYNC | SYNC)
#define UFFD    (WT_FOR_SCAN | READ)
#define PAGEMAP (UFFD | WT_FOR_SOFTDIRTY)
#define SIGNALS (WT_FOR_WP | WT_FOR_MPROTECT)
#define TESTED  (UFFD | WT_FOR_SOFTDIRTY | WT_FOR_MPROTECT)
#define EVERY   (TESTED | WT_FOR_ALL)

/* A call without conditions, with one, and with two. */
#define ANY(call, who, when)                      \
	{                                         \
		SCMP_SYS(call), (who), (when), 0, \
		{                                 \
			{ 0, 0, 0 }, { 0, 0, 0 }, \
		}                                 \
	}
#define IF(call, who, when, arg, mask, value)                    \
	{                                                        \
		SCMP_SYS(call), (who), (when), 1,                \
		{                                                \
			{ (arg), (mask), (value) }, { 0, 0, 0 }, \
		}                                                \
	}
#define IF2(call, who, when, arg, mask, value, arg2, mask2, value2) \
	{                                                           \
		SCMP_SYS(call), (who), (when), 2,                   \
		{                                                   \
			{ (arg), (mask), (value) },                 \
				{ (arg2), (mask2), (value2) },      \
		}                                                   \
	}

/* The kernel looks at 32 bits of a flag word; what is above may be anything. */
#define WORD                        0xffffffffu
#define REQUEST(who, when, request) IF(ioctl, who, when, 1, WORD, request)
#define ADVICE(who, when, advice)   IF(madvise, who, when, 2, WORD, advice)
#define FILE_OPEN(who, when, mode) \
	IF(openat, who, when, 2, WORD, (mode) | O_CLOEXEC)
#define MEMBARRIER(when, command)        IF(membarrier, EVERY, when, 0, WORD, command)
#define ONLY_SIGNAL(call, who, arg, sig) IF(call, who, RUNNING, arg, WORD, sig)

/* liburcu sleeps by poll(3), which is another call where poll(2) is not. */
#ifdef __NR_poll
#define SLEEP poll
#else
#define SLEEP ppoll
#endif

const struct wt_seccomp_rule wt_seccomp_rules[] = {
	/* Files: /proc/self/maps and pagemap, the device, clear_refs. */
	FILE_OPEN(EVERY, OPENING, O_RDONLY),
	FILE_OPEN(UFFD, OPENING, O_RDWR),
	FILE_OPEN(WT_FOR_SOFTDIRTY, OPENING, O_WRONLY),
	ANY(close, EVERY, RUNNING),
	ANY(fstat, EVERY, RUNNING),
	ANY(pread64, EVERY, RUNNING),
	REQUEST(EVERY, RUNNING, WT_PROCMAP_QUERY),

	/* userfaultfd; with or without UFFD_USER_MODE_ONLY. */
	IF(userfaultfd, UFFD, OPENING, 0, WORD & ~WT_UFFD_USER_MODE_ONLY,
	   O_CLOEXEC | O_NONBLOCK),
	REQUEST(UFFD, OPENING, WT_USERFAULTFD_IOC_NEW),
	REQUEST(UFFD, OPENING, WT_UFFDIO_API),
	REQUEST(UFFD, RUNNING, WT_UFFDIO_REGISTER),
	REQUEST(UFFD, RUNNING, WT_UFFDIO_UNREGISTER),
	REQUEST(UFFD, RUNNING, WT_UFFDIO_WRITEPROTECT),
	REQUEST(READ, RUNNING, WT_UFFDIO_WAKE),
	REQUEST(WT_FOR_SCAN, RUNNING, WT_PAGEMAP_SCAN),
	ANY(write, WT_FOR_SOFTDIRTY, RUNNING),

	/* Own memory: anonymous, never executable, never over other memory. */
	IF2(mmap, EVERY, RUNNING, 2, WORD, PROT_READ | PROT_WRITE, 3,
	    MAP_ANONYMOUS | MAP_FIXED, MAP_ANONYMOUS),
	ANY(munmap, EVERY, RUNNING),
	IF(mremap, EVERY, RUNNING, 3, WORD & ~(unsigned)MREMAP_MAYMOVE, 0),
	ADVICE(EVERY, OPENING, WT_MADV_WIPEONFORK),
	/* Watched memory: executable only by the caller's own rule. */
	IF(msync, EVERY, RUNNING, 2, WORD, MS_ASYNC),
	IF(mprotect, WT_FOR_MPROTECT, RUNNING, 2,
	   WORD & ~(unsigned)(PROT_READ | PROT_WRITE), 0),
	ADVICE(UFFD, RUNNING, WT_MADV_POPULATE_READ),

	/* The self-test; what a thread needs all the time is below. */
	ADVICE(TESTED, OPENING, MADV_NOHUGEPAGE),
	ADVICE(PAGEMAP & ~WT_FOR_MONITOR, OPENING, MADV_DONTNEED),
	IF(pipe2, TESTED, OPENING, 1, WORD, O_CLOEXEC),
	ANY(read, TESTED & ~WT_FOR_MONITOR, OPENING),
	ANY(write, TESTED & ~WT_FOR_MONITOR, OPENING),

	/* Faults; and a foreign one, which must kill as it would have. */
	ONLY_SIGNAL(rt_sigaction, WT_FOR_MPROTECT, 0, SIGSEGV),
	ONLY_SIGNAL(rt_sigaction, WT_FOR_WP, 0, SIGBUS),
	ANY(rt_sigreturn, SIGNALS, RUNNING),
	ANY(getpid, SIGNALS, RUNNING),
	ANY(gettid, SIGNALS, RUNNING),
	ONLY_SIGNAL(rt_tgsigqueueinfo, WT_FOR_MPROTECT, 2, SIGSEGV),
	ONLY_SIGNAL(rt_tgsigqueueinfo, WT_FOR_WP, 2, SIGBUS),

	/* Locks, and waiting for readers. */
	ANY(rt_sigprocmask, EVERY, RUNNING),
	ANY(futex, EVERY, RUNNING),
	ANY(sched_yield, EVERY, RUNNING),
	MEMBARRIER(RUNNING, WT_MEMBARRIER_PRIVATE_EXPEDITED),
	ANY(SLEEP, EVERY, RUNNING),
	ANY(restart_syscall, EVERY, RUNNING),
	/* Where dlopen brings liburcu into a program that is confined. */
	MEMBARRIER(OPENING, MEMBARRIER_CMD_QUERY),
	MEMBARRIER(OPENING, WT_MEMBARRIER_REGISTER_PRIVATE_EXPEDITED),

	/* The thread that resolves faults: libc makes it, and a child again. */
	ANY(clone3, WT_FOR_MONITOR, OPENING),
	ANY(clone, WT_FOR_MONITOR, OPENING),
	IF(mmap, WT_FOR_MONITOR, OPENING, 2, WORD, PROT_NONE),
	IF(mprotect, WT_FOR_MONITOR, OPENING, 2, WORD, PROT_READ | PROT_WRITE),
	/* The thread's own; open may return before it has begun. */
	ANY(set_robust_list, WT_FOR_MONITOR, RUNNING),
	ANY(rseq, WT_FOR_MONITOR, RUNNING),
	ANY(read, WT_FOR_MONITOR, RUNNING),
	ANY(write, WT_FOR_MONITOR, RUNNING),
	ANY(ppoll, WT_FOR_MONITOR, RUNNING),
	ADVICE(WT_FOR_MONITOR, RUNNING, MADV_DONTNEED),
	ANY(exit, WT_FOR_MONITOR, RUNNING),
};

const size_t wt_seccomp_n_rules =
	sizeof(wt_seccomp_rules) / sizeof(wt_seccomp_rules[0]);

const struct wt_seccomp_name wt_seccomp_names[] = {
	{ "scan", WT_FOR_SCAN, WT_FOR_SCAN },
	{ "async", WT_FOR_ASYNC, WT_FOR_ASYNC },
	{ "wp", WT_FOR_WP, WT_FOR_WP },
	{ "monitor", WT_FOR_MONITOR, 0 },
	{ "softdirty", WT_FOR_SOFTDIRTY, 0 },
	{ "mprotect", WT_FOR_MPROTECT, WT_FOR_MPROTECT },
	{ "all", WT_FOR_ALL, WT_FOR_ALL },
};

const size_t wt_seccomp_n_names =
	sizeof(wt_seccomp_names) / sizeof(wt_seccomp_names[0]);
