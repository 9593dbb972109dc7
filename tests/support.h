/* SPDX-License-Identifier: MIT */
/*
 * support.h: what all test programs share.
 *
 * A program lists its cases and passes them to run_cases(), which runs a case
 * once, or once for each backend that works here.  `*state` of a case is the
 * backend's name.  What cannot run here is left out with a `# reason` line.
 *
 * cmocka's asserts also work in a forked child: they end it, and whoever waits
 * for it sees that it failed.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sys.h"
#include "wtrack.h"

/* ---- cases ---- */

struct test_case {
	const char *name;
	CMUnitTestFunction run;
	bool each_backend;
	uint64_t needs;             /* WTRACK_CAP_* of the backend */
	const char *(*lacks)(void); /* NULL, or why it cannot run here */
	int kind;                   /* of memory that the backend watches */
	bool fresh;                 /* in a process where nothing was opened */
	int killed_by;              /* the signal that must kill that process */
};

/* Once, with no backend; or for each backend that works. */
#define CASE(f)                      \
	{                            \
		.name = #f, .run = f \
	}
#define CASE_EACH(f)                                       \
	{                                                  \
		.name = #f, .run = f, .each_backend = true \
	}
/* For each backend that has all of `caps`. */
#define CASE_NEEDS(f, caps) CASE_NEEDS_IF(f, caps, NULL)
/* As CASE and CASE_NEEDS, where `lacks` returns NULL. */
#define CASE_IF(f, why)                            \
	{                                          \
		.name = #f, .run = f, .lacks = why \
	}
#define CASE_NEEDS_IF(f, caps, why)                                          \
	{                                                                    \
		.name = #f, .run = f, .each_backend = true, .needs = (caps), \
		.lacks = (why)                                               \
	}
/* For each backend that has all of `caps` and watches this kind of memory. */
#define CASE_ON_KIND(f, memory, caps, why)                                   \
	{                                                                    \
		.name = #f, .run = f, .each_backend = true, .needs = (caps), \
		.lacks = (why), .kind = (memory)                             \
	}
/* In a fresh process, which must end well; or must be killed. */
#define CASE_FRESH(f, why)                                        \
	{                                                         \
		.name = #f, .run = f, .fresh = true, .lacks = why \
	}
#define CASE_FRESH_EACH(f)                                                \
	{                                                                 \
		.name = #f, .run = f, .each_backend = true, .fresh = true \
	}
#define CASE_FRESH_ON_KIND(f, memory)                                      \
	{                                                                  \
		.name = #f, .run = f, .each_backend = true, .fresh = true, \
		.kind = (memory)                                           \
	}
#define CASE_KILLED(f, signal, why)                                  \
	{                                                            \
		.name = #f, .run = f, .lacks = (why), .fresh = true, \
		.killed_by = (signal)                                \
	}

/* Runs all; the value is main's. */
int run_cases(const char *group, const struct test_case *cases, size_t n);
#define RUN_CASES(group, cases) \
	run_cases(group, cases, sizeof(cases) / sizeof((cases)[0]))

/*
 * The same for programs with fresh cases: runs one of them, here and now, if it
 * is named by main's arguments.  A failed assert then ends the process.
 */
int run_fresh_or_all(const char *group, const struct test_case *cases, size_t n,
		     const char *fresh);
#define RUN_FRESH_OR_ALL(group, cases, argc, argv)                         \
	run_fresh_or_all(group, cases, sizeof(cases) / sizeof((cases)[0]), \
			 (argc) > 1 ? (argv)[1] : NULL)

/* A case that hangs is killed after five minutes, or so many seconds more. */
void allow_more_seconds(unsigned seconds);

/* So many rounds, or a tenth of them under valgrind or a sanitizer. */
int rounds(int n);

/* Reasons for CASE_IF. */
const char *lacks_hugetlb(void);
/* For what fills three huge pages, which may be of 512 MiB. */
const char *lacks_huge_memory(void);
const char *lacks_root(void);
/*
 * Defined by programs that neither fork nor replace kernel entries: then their
 * cases on the monitor run under sanitizers, too.
 */
extern const bool only_threads __attribute__((weak));
bool under_valgrind(void);
const char *lacks_native_run(void);        /* under valgrind or a sanitizer */
const char *lacks_untouched_threads(void); /* under ThreadSanitizer */
const char *lacks_scan(void);
const char *lacks_mprotect(void);

/* ---- backends ---- */

#define N_BACKENDS 7
extern const char *const backend_names[N_BACKENDS];

/* Whether the case that runs is for this backend. */
bool runs_on(const char *backend);
/* 0, or the negative errno of an open on this backend; tried each time. */
int backend_error(const char *backend);
/* An open handle. */
struct wtrack *open_on(const char *backend);
uint64_t caps_of(struct wtrack *t);
struct wtrack_stats stats_of(struct wtrack *t);

/* ---- memory ---- */

size_t page_size(void);

enum mem_kind {
	MEM_ANON,
	MEM_THP, /* anonymous, huge pages advised, aligned for them */
	MEM_SHARED_ANON,
	MEM_MEMFD,        /* shared */
	MEM_FILE_PRIVATE, /* a regular file with contents */
	MEM_FILE_SHARED,
	MEM_HUGETLB, /* a page is a huge page */
	MEM_KINDS
};

/* Whether the backend can watch this kind of memory. */
bool watches_kind(struct wtrack *t, enum mem_kind kind);

struct mem {
	char *base;
	size_t pages;
	size_t page; /* bytes of one */
	int fd;      /* -1: none */
};

const char *mem_kind_name(enum mem_kind kind);
/* NULL, or why there is no such memory here. */
const char *mem_kind_lacks(enum mem_kind kind);
/* Populated, if `populate`, by reading or writing each page. */
struct mem mem_map(enum mem_kind kind, size_t pages, bool populate);
void mem_unmap(struct mem *m);

/* Anonymous pages, each written once. */
char *map_pages(size_t pages);
/* The same, watched. */
char *map_watched(struct wtrack *t, size_t pages);
void unmap_pages(char *base, size_t pages);

/* Puts it at the library's door to the kernel; NULL takes it away. */
void at_the_door(wt_sys_hook_fn *hook);

/* A store that the compiler keeps. */
void touch(char *base, size_t page);

/* ---- what is dirty ---- */

/*
 * Collects everything, with `flags`, into a static array and checks what holds
 * always: ascending, no overlap, no touching runs of equal flags, a flag each.
 */
struct run_list {
	const struct wtrack_run *at;
	size_t n;
};
struct run_list collect_all(struct wtrack *t, unsigned flags);
void clear_all(struct wtrack *t);

/* Looks, and clears nothing. */
bool is_dirty(struct wtrack *t, const void *addr);
/* The flags of the run that has `addr`; 0 if it is clean. */
uint64_t flags_at(struct wtrack *t, const void *addr);

/*
 * Exactly these pages, by number from `base`, are dirty in all of the handle,
 * and were written.  On a backend that is not precise: at least these are, and
 * each run says WTRACK_RUN_UNTRACKED.  Clears nothing.
 */
void assert_dirty_exactly(struct wtrack *t, const char *base,
			  const size_t *pages, size_t n);
/* At least these are. */
void assert_dirty_superset(struct wtrack *t, const char *base,
			   const size_t *pages, size_t n);
#define PAGES(...)                       \
	(const size_t[]){ __VA_ARGS__ }, \
		sizeof((const size_t[]){ __VA_ARGS__ }) / sizeof(size_t)
#define assert_dirty(t, base, ...) \
	assert_dirty_exactly(t, base, PAGES(__VA_ARGS__))
/* Nothing is dirty (where the backend can know). */
void assert_clean(struct wtrack *t);

/* What a failed call must leave as it was: compare before and after. */
struct state {
	uint64_t caps;
	uint64_t epoch;
	uint64_t ranges;
	uint64_t watched_bytes;
	size_t n;
	struct wtrack_run runs[64];
};
struct state state_of(struct wtrack *t);
void assert_state_is(struct wtrack *t, const struct state *before);

/*
 * The call returns exactly this, and leaves errno alone.  `int` or `ssize_t`.
 */
#define assert_returns(expected, call)                            \
	do {                                                      \
		errno = 1234;                                     \
		assert_int_equal((long)(call), (long)(expected)); \
		assert_int_equal(errno, 1234);                    \
	} while (0)

/* ---- processes ---- */

/* Forks, runs `f` in the child, and returns its wait status. */
int run_in_child(void (*f)(void *), void *arg);
/* The child must exit with 0; must be killed by this signal. */
void assert_child_passes(void (*f)(void *), void *arg);
void assert_child_killed_by(int signal, void (*f)(void *), void *arg);
/* Ends a child that it is called in, telling where, unless `ok`. */
void check_at(bool ok, const char *what, const char *file, int line);
#define CHECK(x) check_at(x, #x, __FILE__, __LINE__)

/* Runs this program anew, with one argument; returns the wait status. */
int run_self(const char *argument);

/*
 * Until this thread is the only one, or a second has gone: those that were
 * joined are ending yet.  The kernel keeps some for io_uring.
 */
void await_end_of_threads(void);

/* What a leak would change. */
struct usage {
	size_t fds;
	size_t mapped_pages;
};
struct usage usage_now(void);

#endif
