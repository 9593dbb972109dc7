/* SPDX-License-Identifier: MIT */
/*
 * vma.h: what the kernel says about the mappings of this process.
 *
 * PROCMAP_QUERY where the kernel has it (6.11), else the text of
 * /proc/self/maps, read without stdio into a buffer on the stack.
 */
#ifndef WT_VMA_H
#define WT_VMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_vma {
	uintptr_t start;
	uintptr_t end;
	unsigned prot;    /* PROT_* */
	bool file;        /* shared or backed by a file */
	size_t page_size; /* bytes; 0: not known (text) */
};

/* Opens the descriptor that walks read; again in a forked child. */
int wt_vma_open(void);
void wt_vma_close(void);

/* Whether it is open, and not another's file by now. */
bool wt_vma_readable(void);

struct wt_vma_walk {
	uintptr_t at;  /* mappings that end after this are still to come */
	bool writable; /* only those that can be written */
	bool text;
	bool lent; /* the process's descriptor of the text, or one of its own */
	int fd;
	long offset;       /* of the next byte to read */
	size_t have, used; /* bytes in buf, and of them consumed */
	char buf[512];
};

/* Walks mappings that end after `addr`, in order. */
void wt_vma_walk_init(struct wt_vma_walk *w, uintptr_t addr, bool writable);
/* 1 and the next mapping, 0 at the end, or a negative errno. */
int wt_vma_walk_next(struct wt_vma_walk *w, struct wt_vma *out);
/* After the last of them. */
void wt_vma_walk_end(struct wt_vma_walk *w);

/* 0 if all of [start, end) is mapped, else -ENOMEM. */
int wt_vma_mapped(uintptr_t start, uintptr_t end);

/*
 * Bytes of a page of the mapping that begins at `start`: more than the system's
 * if it is hugetlb.  For a wt_vma without a page_size.
 */
size_t wt_vma_page_size_at(uintptr_t start);

#endif
