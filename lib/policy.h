/* SPDX-License-Identifier: MIT */
/*
 * policy.h: what becomes of a page that was found dirty: pure decisions.
 *
 * A fault costs more than anything else in tracking, and a page that is written
 * in every epoch costs one in each to learn what is known already.  So a page
 * that was dirty in some epochs running is *hot*: left un-armed, and reported
 * as presumed dirty, until a re-check.  Nothing depends on these decisions but
 * cost: an un-armed page is reported by the room, always. [G1]
 *
 * Time is the handle's tick, one a clearing pass; what is kept of it are its
 * low bits.  A mistaken match only makes a page hot too early.
 */
#ifndef WT_POLICY_H
#define WT_POLICY_H

#include "wtrack.h"

#include <stdbool.h>

/* A policy as it is kept, in the attributes of a range. */
struct wt_policy {
	unsigned kind;    /* WTRACK_POLICY_* */
	unsigned after;   /* epochs running; 0: no page becomes hot */
	unsigned from;    /* log2 of epochs */
	unsigned to;      /* log2 of epochs */
	uint32_t page_ns; /* what a false page costs */
};

/* Checks the caller's, of any size, and puts in what is 0.  -EINVAL, -E2BIG. */
int wt_policy_read(const struct wtrack_policy *in, struct wt_policy *out);
/* As attributes of a range (region.h), and back. */
uint64_t wt_policy_attr(const struct wt_policy *p);
struct wt_policy wt_policy_of(uint64_t attr);

/*
 * The byte of a page.  0x01 to 0x03 and hot pages are un-armed; FRESH is armed
 * unless the range is lazy (WT_LAZY).
 */
#define WT_BYTE_FRESH    0x00u /* never cleared by this policy */
#define WT_BYTE_MARKED   0x01u /* dirty until cleared */
#define WT_BYTE_DEFERRED 0x02u /* clearing was put off */
#define WT_BYTE_KEPT     0x03u /* advised to stay un-armed */
#define WT_BYTE_CLEAN    0x04u /* armed, and not dirty since */
#define WT_BYTE_KIND     0xc0u
#define WT_BYTE_COLD     0x40u /* armed; streak less 1 << 4 | tick */
#define WT_BYTE_HOT      0x80u /* un-armed; level << 3 | waits left */
#define WT_BYTE_PROBE    0xc0u /* armed to re-check; level << 3 | tick */

/* Whether it is known that the page is un-armed, and not that it was written.
 */
static inline bool wt_byte_is_presumed(uint8_t byte)
{
	return (byte & WT_BYTE_KIND) == WT_BYTE_HOT ||
	       byte == WT_BYTE_DEFERRED || byte == WT_BYTE_KEPT;
}

/* Whether it is known that the page was armed when it was last cleared. */
static inline bool wt_byte_is_armed(uint8_t byte)
{
	return (byte & WT_BYTE_COLD) || byte == WT_BYTE_CLEAN;
}

static inline bool wt_byte_is_probe(uint8_t byte)
{
	return (byte & WT_BYTE_KIND) == WT_BYTE_PROBE;
}

/* What a clearing at `tick` makes of a page that is reported as dirty. */
struct wt_next {
	uint8_t byte;
	bool arm;
	bool proved; /* a re-check found it dirty in the next epoch */
};
struct wt_next wt_policy_next(const struct wt_policy *p, uint8_t byte,
			      unsigned tick, uintptr_t page);

/*
 * Where re-checks find most hot pages clean, pages become hot too easily: the
 * epochs that are asked for beyond `after`, from what they were, the re-checks
 * that were answered in the last epoch and how many found their page dirty,
 * and the epochs since the last change.
 */
unsigned wt_policy_caution(unsigned caution, uint64_t rechecks, uint64_t dirty,
			   uint64_t since);
#define WT_CAUTION_MOST 3
void wt_policy_be_cautious(struct wt_policy *p, unsigned caution);

/* ---- how to arm what is to be armed in a piece of up to 2 MiB ---- */

/* Measured, in ns: see costs.h. */
struct wt_costs {
	uint32_t fault;    /* the first store to an armed page */
	uint32_t arm;      /* arming one page by itself */
	uint32_t arm_page; /* each further page of the same call */
	uint32_t call;     /* a look and clearing in one */
	uint32_t fused;    /* each page table that it goes through */
	uint32_t look;     /* each page table that a look goes through */
};

struct wt_piece {
	unsigned runs;     /* to arm; pages that touch are one */
	unsigned pages;    /* in them */
	unsigned span;     /* pages from the first to the last */
	unsigned holes;    /* dirty pages that are to stay un-armed */
	unsigned deferred; /* epochs that it has been put off already */
	bool stopped;      /* no thread writes: clean pages may be armed */
	bool whole;        /* the room cannot arm a part, only all of it */
	bool fixed;        /* only run by run: some must stay as they are */
};

enum wt_plan {
	WT_PLAN_NONE,
	WT_PLAN_RUNS,  /* arm run by run; if stopped, over clean pages too */
	WT_PLAN_FUSED, /* look and clear again, in one; there are no holes */
	WT_PLAN_ALL,   /* the same, holes or not: they fault again */
	WT_PLAN_DEFER, /* leave it to a later epoch */
};

/* The cheapest by `c`. */
enum wt_plan wt_policy_plan(const struct wt_policy *p,
			    const struct wt_piece *piece,
			    const struct wt_costs *c);

/*
 * Whether a block like this one is best looked at and cleared in one the next
 * time, together with its neighbours, without a look to find that out.
 */
bool wt_policy_fuses(const struct wt_policy *p, const struct wt_piece *block,
		     const struct wt_costs *c);

#endif
