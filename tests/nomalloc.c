/* SPDX-License-Identifier: MIT */
/* nomalloc.c: every allocator function of libc, over one static arena. */
#include "nomalloc.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

_Thread_local volatile bool may_allocate = true;

#if OWN_MALLOC

/* Memory for the rest of the process; nothing is ever given back. */
static _Alignas(64) char arena[16 << 20];
static size_t arena_used;

static void *allocate(size_t align, size_t len)
{
	static const char text[] = "# the library called malloc\n";
	size_t head = align < 64 ? 64 : align;
	size_t take = (len + 2 * head + 63) & ~(size_t)63;
	uintptr_t at;

	if (!may_allocate) {
		ssize_t told = write(STDERR_FILENO, text, sizeof(text) - 1);

		(void)told;
		abort();
	}
	at = __atomic_fetch_add(&arena_used, take, __ATOMIC_RELAXED);
	if (at + take > sizeof(arena))
		return NULL;
	at = ((uintptr_t)arena + at + 2 * head - 1) & ~(head - 1);
	((size_t *)at)[-1] = len;
	return (void *)at;
}

void *malloc(size_t len)
{
	return allocate(16, len);
}

void *calloc(size_t n, size_t len)
{
	return allocate(16, n * len);
}

void *realloc(void *old, size_t len)
{
	void *p = allocate(16, len);
	size_t had = old ? ((size_t *)old)[-1] : 0;

	return p && old ? memcpy(p, old, had < len ? had : len) : p;
}

void free(void *p)
{
	if (!may_allocate)
		allocate(16, 0);
	(void)p;
}

void *memalign(size_t align, size_t len)
{
	return allocate(align, len);
}

void *aligned_alloc(size_t align, size_t len)
{
	return allocate(align, len);
}

int posix_memalign(void **out, size_t align, size_t len)
{
	*out = allocate(align, len);
	return *out ? 0 : ENOMEM;
}

static bool is_required(const char *backend)
{
	const char *required = getenv("WTRACK_REQUIRE_BACKENDS");

	return required && strstr(required, backend);
}

int report(int number, const char *backend, int rc)
{
	bool skip = rc == -EOPNOTSUPP && !is_required(backend);

	if (rc < 0 && !skip)
		printf("# error %d\n", rc);
	printf("%sok %d - nomalloc[%s]%s\n", rc < 0 && !skip ? "not " : "",
	       number, backend, skip ? " # SKIP not available" : "");
	fflush(stdout); /* fork must not copy it */
	return rc < 0 && !skip;
}

int report_trap(int number)
{
	void *(*volatile allocator)(size_t) = malloc;
	int status = 0;
	pid_t child = fork();
	bool ok;

	if (child == 0) {
		close(STDERR_FILENO);
		may_allocate = false;
		_exit(allocator(1) ? 0 : 1);
	}
	ok = child > 0 && waitpid(child, &status, 0) == child;
	ok = ok && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
	printf("%sok %d - malloc_aborts_where_it_may_not_be_called\n",
	       ok ? "" : "not ", number);
	fflush(stdout);
	return !ok;
}

#endif
