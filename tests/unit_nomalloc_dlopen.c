/* SPDX-License-Identifier: MIT */
/*
 * A library that came by dlopen never calls malloc in a fault either: a thread
 * older than the dlopen has no thread-local storage of it yet, and getting it
 * by __tls_get_addr would allocate, inside the fault handler.  [G5]
 */
#include "nomalloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wtrack.h>

#if OWN_MALLOC

#define PAGES 8

static __typeof__(wtrack_open) *open_fn;
static __typeof__(wtrack_watch) *watch_fn;
static __typeof__(wtrack_collect) *collect_fn;
static __typeof__(wtrack_close) *close_fn;

static pthread_barrier_t barrier;
static struct wtrack *tracker;
static char *area;
static size_t page;
static long collected;

/* Waits for the library, then writes and collects once. */
static void *old_thread(void *arg)
{
	struct wtrack_run runs[PAGES];

	pthread_barrier_wait(&barrier);
	if (!tracker)
		return arg;
	may_allocate = false;
	for (size_t i = 0; i < PAGES; i += 2)
		((volatile char *)area)[i * page]++;
	collected = (long)collect_fn(tracker, NULL, runs, PAGES, WTRACK_GET);
	may_allocate = true;
	return arg;
}

static void *load(void)
{
	const char *top = getenv("top_builddir");
	char path[PATH_MAX];
	void *so;

	snprintf(path, sizeof(path), "%s/lib/.libs/libwtrack.so",
		 top ? top : ".");
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		printf("# %s\n", dlerror());
		return NULL;
	}
	*(void **)&open_fn = dlsym(so, "wtrack_open");
	*(void **)&watch_fn = dlsym(so, "wtrack_watch");
	*(void **)&collect_fn = dlsym(so, "wtrack_collect");
	*(void **)&close_fn = dlsym(so, "wtrack_close");
	return so;
}

static int watch(const char *backend)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	int rc;

	if (!load())
		return -ENOENT;
	options.backend = backend;
	rc = open_fn(&options, &tracker);
	if (rc < 0)
		tracker = NULL;
	return rc < 0 ? rc : watch_fn(tracker, area, PAGES * page, 0);
}

int main(int argc, char **argv)
{
	/* By hand it may run on another backend than the one that faults. */
	const char *backend = argc > 1 ? argv[1] : "mprotect";
	pthread_t thread;
	int rc;

	page = (size_t)sysconf(_SC_PAGESIZE);
	area = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	if (area == MAP_FAILED ||
	    pthread_create(&thread, NULL, old_thread, NULL) != 0)
		return 1;
	printf("1..2\n");
	fflush(stdout);
	rc = watch(backend);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	if (rc == 0 && collected < 1)
		rc = -EIO;
	if (tracker)
		close_fn(tracker);
	return report_trap(1) | report(2, backend, rc);
}

#else

int main(void)
{
	puts("1..0 # SKIP the sanitizer has its own malloc");
	return 0;
}

#endif
