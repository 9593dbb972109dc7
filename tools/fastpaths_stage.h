/* SPDX-License-Identifier: MIT */
/*
 * fastpaths_stage.h: what the questions about fast paths share.
 *
 * Whatever fails ends the process with the answer that it is not known, and
 * nothing is taken down: the process ends with its question.
 */
#ifndef FASTPATHS_STAGE_H
#define FASTPATHS_STAGE_H

#include "fastpaths.h"
#include "uapi.h"

#include <stdint.h>

/* Bytes. */
size_t page_bytes(void);
/* What one page table covers, and a huge page is. */
size_t block_bytes(void);

/* Private anonymous memory, empty, without huge pages; aligned to a block. */
char *map_blocks(size_t len);

/*
 * A userfaultfd by the first door that the probe found open: one that resolves
 * faults in the kernel, or one that raises SIGBUS.
 */
int uffd_async(const struct wtrack_probe *p);
int uffd_sync(const struct wtrack_probe *p);
void uffd_register(int uffd, char *mem, size_t len);
/* Arms, or un-arms. */
void uffd_protect(int uffd, char *mem, size_t len, bool arm);

/* Stores to `n` pages, `stride` bytes from one to the next. */
void store_pages(char *mem, size_t n, size_t stride);
/* The same; the faults that it took. */
long faults_of_stores(char *mem, size_t n, size_t stride);

/*
 * Faults are counted in some rounds, and the least counts: what comes in
 * between (memory that is swapped, say) only adds some.
 */
long least_faults(long (*round)(int uffd), int uffd);

/* Which counts mean yes, and which no; others mean nothing.  Inclusive. */
struct fault_range {
	long yes_from, yes_to;
	long no_from, no_to;
};
__attribute__((noreturn)) void answer_faults(long faults, int stores,
					     const struct fault_range *range);

int pagemap_open(const struct wtrack_probe *p);
/*
 * Asks for written pages: as the short loops want it asked, or so that only the
 * long one knows the answer.  Stores up to `room` regions; returns how many.
 */
int scan_written(int pagemap, const char *mem, size_t len, bool shortly,
		 struct wt_page_region *found, size_t room);

#endif
