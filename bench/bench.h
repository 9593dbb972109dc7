/* SPDX-License-Identifier: MIT */
/*
 * bench.h: what the cases, the contenders and the report share.
 *
 * A *contender* is one way to track writes: the library with one backend, or
 * a peer written by hand.  A *span* is memory cut into pieces that a contender
 * attaches to.  A *case* lets contenders take turns and keeps the minimum of
 * each one's rounds.
 */
#ifndef WTRACK_BENCH_H
#define WTRACK_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIB ((size_t)1 << 20)

struct bench {
	bool json;
	bool quick;
	bool exact;
	size_t page;     /* bytes */
	unsigned rounds; /* turns per contender */
};

/* --- main.c --- */

_Noreturn void bench_die(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));
void bench_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Nanoseconds of the monotonic clock. */
uint64_t bench_now(void);

/* Lowers *best to ns; 0 stands for "no round yet". */
void bench_keep_min(uint64_t *best, uint64_t ns);

/*
 * A turn that takes longer than a time slice never goes undisturbed on a busy
 * machine.  It is timed in laps; what counts is the sum of the best laps.
 */
#define LAPS 128
struct laps {
	uint64_t best[LAPS];
};
double laps_sum(const struct laps *laps);

/* --- report.c --- */

enum target_kind {
	TARGET_NONE,
	TARGET_RATIO,
	TARGET_VALUE
};

struct row {
	const char *name;
	const char *backend;
	size_t n; /* what the case worked on: pages, ranges or calls */
	double value;
	const char *unit;
	const char *peer; /* NULL: measured alone */
	double peer_value;
	enum target_kind target;
	double limit; /* of the ratio or of the value */
	/* Instead of values: what is not available here, and why. */
	const char *lacks;
	int error; /* a negative errno */
};

void report_row(const struct bench *b, const struct row *row);

/* --- span.c --- */

/* Pieces of `piece` bytes, one every `stride` bytes of [base, base + len). */
struct span {
	unsigned char *base;
	size_t len;
	size_t piece;
	size_t stride;
};

/* Private anonymous memory without huge pages, nothing populated yet. */
struct span span_map(const struct bench *b, size_t len);
void span_unmap(const struct bench *b, struct span *span);
struct span span_cut(struct span span, size_t piece, size_t stride);
bool span_is_whole(const struct span *span);
size_t span_pieces(const struct span *span);

/* Writes every `step`-th page (0: none) and returns how many. */
size_t span_write(const struct bench *b, const struct span *span, size_t step);
/* Gives every page its memory. */
void span_populate(const struct bench *b, const struct span *span);

/* --- contender.c and peer_*.c --- */

struct contender;

struct contender_ops {
	const char *name;
	int (*open)(struct contender *c);   /* 0 or a negative errno */
	void (*close)(struct contender *c); /* may be NULL */
	/* Around all use of one span, may be NULL: for signal handlers. */
	void (*enter)(struct contender *c, const struct span *span);
	void (*leave)(struct contender *c);
	/* Memory becomes tracked and clean, or plain again. */
	void (*attach)(struct contender *c, unsigned char *addr, size_t len);
	void (*detach)(struct contender *c, unsigned char *addr, size_t len);
	/* Returns how many pages of the span are dirty. */
	size_t (*collect)(struct contender *c, const struct span *span,
			  bool clear);
};

struct contender {
	const struct contender_ops *ops;
	const char *backend; /* of the library; NULL for peers */
	const struct bench *bench;
	unsigned watch; /* WTRACK_WATCH_* for the library */
	bool opened;
	int error; /* why it is not open: a negative errno */
	struct wtrack *handle;
	int uffd;
	int pagemap;
};

extern const struct contender_ops contender_wtrack;
extern const struct contender_ops contender_raw;
extern const struct contender_ops contender_mprotect;
extern const struct contender_ops contender_libsigsegv;
extern const struct contender_ops contender_sigbus;
extern const struct contender_ops contender_monitor;

/* The backend, or the peer's name. */
const char *contender_label(const struct contender *c);
/* Opens, or says on standard error why `what` goes without it. */
bool contender_open(const struct bench *b, struct contender *c,
		    const char *what);
void contender_close(struct contender *c);
void contender_attach(struct contender *c, const struct span *span);
void contender_detach(struct contender *c, const struct span *span);

/* Collects and dies, naming `what`, unless `expect` pages are reported. */
uint64_t contender_timed_collect(struct contender *c, const struct span *span,
				 bool clear, size_t expect, const char *what);

/*
 * The array that the library and the raw loop hand to a collection, three
 * words a run.  The raw loop is fastest with this many: with fewer it enters
 * the kernel more often, with more the array leaves the cache.
 */
#define RUNS_MAX ((size_t)16384)
extern uint64_t runs_buffer[3 * RUNS_MAX];

/* --- density.c: collections over memory written more or less densely --- */

struct density {
	const char *label;
	size_t step;        /* every step-th page is written; 0: none */
	unsigned clearings; /* in each round */
};

#define DENSITIES_MAX 5
enum {
	MODE_GET,
	MODE_GET_CLEAR,
	MODES
};

/* One of the two that take turns, and its best nanoseconds so far. */
struct side {
	struct contender *contender;
	size_t piece; /* how it cuts the memory; 0: not at all */
	size_t stride;
	struct span span;
	uint64_t best[MODES][DENSITIES_MAX];
};

struct duel {
	const char *name;
	struct side side[2]; /* what is measured, and its peer */
	const struct density *densities;
	size_t ndensities;
};

/* Measures on two mappings of `len` bytes, which the two swap half-way. */
void density_run(const struct bench *b, struct duel *duel, size_t len);
/* One row for each mode and density, divided by `per` units of work. */
void density_report(const struct bench *b, const struct duel *duel,
		    struct row row, double per);

/* --- dirtylog.c: what a fault handler written by hand needs --- */

void dirtylog_enter(const struct bench *b, const struct span *span);
void dirtylog_leave(void);
/* Records a page and returns it; NULL if it is not in the span. */
unsigned char *dirtylog_note(void *addr);
/* Counts the recorded pages, and forgets them. */
size_t dirtylog_take(bool clear);
/* By mprotect: records a page and makes it writable. */
bool dirtylog_fault(void *addr);
/* For contender_ops. */
void dirtylog_attach(struct contender *c, unsigned char *addr, size_t len);
void dirtylog_detach(struct contender *c, unsigned char *addr, size_t len);
size_t dirtylog_collect(struct contender *c, const struct span *span,
			bool clear);

/* --- uffd.c: userfaultfd write-protection by hand --- */

/* A descriptor with these UFFD_FEATURE_*, or a negative errno. */
int uffd_open(uint64_t features);
/* Takes the protection off one page; who waits for it goes on. */
bool uffd_release(int uffd, unsigned char *page, size_t len);
/* For contender_ops, on the contender's `uffd`. */
void uffd_close(struct contender *c);
void uffd_attach(struct contender *c, unsigned char *addr, size_t len);
void uffd_detach(struct contender *c, unsigned char *addr, size_t len);
/* The same with the pages of dirtylog.c, which it arms again to clear. */
int uffd_open_sync(struct contender *c, uint64_t features);
size_t uffd_collect(struct contender *c, const struct span *span, bool clear);

/* --- processor.c: a second processor --- */

/* One that this process may use and is not on, or -1. */
int processor_other(void);
/* The calling thread runs there from now on. */
bool processor_take(int cpu);
/* A thread computes there until the release; false: there is only one. */
bool processor_keep_busy(void);
void processor_release(void);

/* --- case_*.c --- */

void case_collect(const struct bench *b);
void case_adjacent(const struct bench *b);
void case_gaps(const struct bench *b);
void case_first_write(const struct bench *b);
void case_watch(const struct bench *b);
void case_memory(const struct bench *b);
void case_few(const struct bench *b);
void case_hot(const struct bench *b);
/* From here on the process has, or has had, a second thread. */
void case_backends(const struct bench *b);
void case_monitor(const struct bench *b);
void case_threads(const struct bench *b);
/* And on a second processor. */
void case_busy(const struct bench *b);
void case_parallel(const struct bench *b);

#endif
