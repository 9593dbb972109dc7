/* SPDX-License-Identifier: MIT */
/*
 * The library never calls malloc: all of the interface runs on each backend
 * while allocating aborts: in the first thread, in a second one whose first
 * act is a write fault, in fork and in the child.
 *
 * Without cmocka, which allocates.  [G4] [G5] [G7]
 */
#include "nomalloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wtrack.h>

#if OWN_MALLOC

#define PAGES 64

/* What is watched, and what the runs are stored to. */
struct scene {
	const char *backend;
	size_t page;
	struct wtrack *t;
	struct wtrack_snapshot *snapshot;
	char *area;
};

/* The line of the first check that failed, per process. */
static int failed_line;

static void check_at(bool ok, int line)
{
	if (!ok && !failed_line)
		failed_line = line;
}
#define CHECK(condition) check_at(condition, __LINE__)

static bool collected(struct scene *s, size_t pages)
{
	struct wtrack_run runs[PAGES];
	ssize_t n = wtrack_collect(s->t, NULL, runs, PAGES,
				   WTRACK_GET | WTRACK_CLEAR);
	size_t sum = 0;

	for (ssize_t i = 0; i < n; i++)
		sum += (runs[i].end - runs[i].start) / s->page;
	return n >= 1 && sum >= pages;
}

static void write_every_second(struct scene *s)
{
	for (size_t i = 0; i < PAGES; i += 2)
		((volatile char *)s->area)[i * s->page]++;
}

static void use_snapshot(struct scene *s)
{
	struct wtrack_run run;

	write_every_second(s);
	CHECK(wtrack_snapshot(s->t, &s->snapshot) == 0);
	CHECK(wtrack_snapshot_pages(s->snapshot) >= PAGES / 2);
	CHECK(wtrack_snapshot_next(s->snapshot, &run) == 1);
	CHECK(wtrack_snapshot_contains(s->snapshot, s->area) == 1);
	CHECK(wtrack_snapshot_epoch(s->snapshot) < UINT64_MAX);
	wtrack_snapshot_rewind(s->snapshot);
	wtrack_snapshot_free(s->snapshot);
	s->snapshot = NULL;
}

static void use_infos(struct scene *s)
{
	struct wtrack_range_info range = { .size = sizeof(range) };
	struct wtrack_info info = { .size = sizeof(info) };
	struct wtrack_stats stats = { .size = sizeof(stats) };
	struct wtrack_probe probe = { .size = sizeof(probe) };

	CHECK(wtrack_probe(&probe) == 0);
	CHECK(wtrack_query(s->t, s->area, &range) == 0);
	CHECK(wtrack_query(s->t, s->area, NULL) == 0);
	CHECK(wtrack_info(s->t, &info) == 0);
	CHECK(strcmp(info.backend, s->backend) == 0);
	CHECK(wtrack_stats(s->t, &stats) == 0);
}

/* All that can be done with an open handle that watches the area. */
static void use(struct scene *s)
{
	write_every_second(s);
	CHECK(collected(s, PAGES / 2));
	CHECK(wtrack_mark(s->t, s->area, 2 * s->page) == 0);
	CHECK(wtrack_prepare_write(s->t, s->area + s->page, s->page) == 0);
	CHECK(collected(s, 2));
	CHECK(wtrack_collect(s->t, NULL, NULL, 0, WTRACK_CLEAR) == 0);
	use_snapshot(s);
	use_infos(s);
	/* A hole splits the range; it is then watched again. */
	CHECK(wtrack_unwatch(s->t, s->area + 8 * s->page, s->page) == 0);
	CHECK(wtrack_watch(s->t, s->area + 8 * s->page, s->page, 0) == 0);
	CHECK(wtrack_watch(s->t, s->area, s->page, 0) == -EEXIST);
}

static void *second_thread(void *arg)
{
	may_allocate = false;
	write_every_second(arg);
	use(arg);
	may_allocate = true;
	return NULL;
}

/* The child inherits `may_allocate`: its atfork handlers run with it. */
static void use_in_child(struct scene *s)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		write_every_second(s);
		CHECK(collected(s, PAGES / 2));
		use(s);
		wtrack_close(s->t);
		_exit(failed_line ? 1 : 0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void in_second_thread(struct scene *s)
{
	pthread_t thread;
	int rc;

	may_allocate = true; /* the system's own work to start a thread */
	rc = pthread_create(&thread, NULL, second_thread, s);
	if (rc == 0)
		pthread_join(thread, NULL);
	may_allocate = false;
	CHECK(rc == 0);
}

/* Returns what wtrack_open() does. */
static int run_scene(struct scene *s)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct wtrack *other = NULL;
	int rc;

	options.backend = s->backend;
	may_allocate = false;
	rc = wtrack_open(&options, &s->t);
	if (rc < 0) {
		may_allocate = true;
		return rc;
	}
	CHECK(wtrack_open(NULL, &other) == 0);
	CHECK(wtrack_watch(s->t, s->area, PAGES * s->page, 0) == 0);
	in_second_thread(s);
	use(s);
	use_in_child(s);
	use(s);
	CHECK(wtrack_unwatch(s->t, s->area, PAGES * s->page) == 0);
	wtrack_close(other);
	wtrack_close(s->t);
	may_allocate = true;
	return rc;
}

static int run_backend(int number, const char *name)
{
	struct scene s = { .backend = name };
	int rc;

	failed_line = 0;
	s.page = (size_t)sysconf(_SC_PAGESIZE);
	s.area = mmap(NULL, PAGES * s.page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	rc = s.area == MAP_FAILED ? -errno : run_scene(&s);
	if (failed_line)
		printf("# line %d of %s\n", failed_line, __FILE__);
	rc = report(number, name, failed_line ? -EIO : rc);
	if (s.area != MAP_FAILED)
		munmap(s.area, PAGES * s.page);
	return rc;
}

int main(void)
{
	int rc;

	printf("1..4\n");
	fflush(stdout);
	rc = report_trap(1);
	rc |= run_backend(2, "scan");
	rc |= run_backend(3, "mprotect");
	rc |= run_backend(4, "all");
	return rc;
}

#else

int main(void)
{
	puts("1..0 # SKIP the sanitizer has its own malloc");
	return 0;
}

#endif
