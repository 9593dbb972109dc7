/* SPDX-License-Identifier: MIT */
/* kernel_calls.h: system calls that store into memory of the caller. */
#ifndef KERNEL_CALLS_H
#define KERNEL_CALLS_H

#include <stddef.h>
#include <sys/types.h>

/* How much a call stores. */
enum call_size {
	CALL_LONG,  /* as many bytes as it is told; it returns their number */
	CALL_PAGES, /* the same, into aligned memory, whole pages */
	CALL_SMALL, /* a structure within a page; it returns 0 */
};

struct kernel_call {
	const char *name;
	ssize_t (*f)(void *buf, size_t len); /* -1 and errno */
	enum call_size size;
	const char *(*lacks)(void); /* NULL, or why it cannot be made here */
};

extern const struct kernel_call kernel_calls[];
extern const size_t n_kernel_calls;

/* So many bytes, each a 'k', in static memory. */
char *filler(size_t len);

#endif
