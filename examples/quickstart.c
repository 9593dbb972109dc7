/* SPDX-License-Identifier: MIT */
/*
 * quickstart.c: edits a file in memory, and is told which pages changed:
 * edits lines of a private mapping of the file, and of a watched buffer that
 * read(2) filled; collects; compares every page with the file.  Exit 1 if a
 * changed page was not reported.
 */
#include <wtrack.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct wtrack *t;
static size_t page, pages, written, reported, lost, edits;
static double edit_ns, collect_ns;
static char *seen; /* pages that were reported */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void check(const char *what, long rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "quickstart: %s: %s\n", what, strerror((int)-rc));
	exit(2);
}

/* Changes the case of one letter in the first line of every sixth page. */
static void edit(char *text, size_t len)
{
	double from = now();

	for (size_t at = 0; at < len; at += 6 * page, edits++)
		text[at] ^= 0x20;
	edit_ns += now() - from;
}

/* Collects and clears all that is dirty; notes the pages of `text`. */
static void collect(const char *text)
{
	struct wtrack_cursor at = WTRACK_CURSOR_INIT;
	struct wtrack_run runs[256];
	ssize_t n;

	memset(seen, 0, pages);
	while ((n = wtrack_collect(t, &at, runs, 256,
				   WTRACK_GET | WTRACK_CLEAR)) > 0)
		for (ssize_t i = 0; i < n; i++)
			memset(seen + (runs[i].start - (uintptr_t)text) / page,
			       1, (runs[i].end - runs[i].start) / page);
	check("collect", n);
}

/* Edits the watched text, collects, and holds it against the original. */
static void round_trip(char *text, size_t len, const char *original)
{
	edit(text, len);
	double from = now();
	collect(text);
	collect_ns += now() - from;
	for (size_t i = 0, run = 0; i < pages; i++) {
		size_t n = i + 1 < pages ? page : len - i * page;
		int changed = memcmp(text + i * page, original + i * page, n);

		written += changed != 0;
		reported += seen[i] != 0;
		lost += changed && !seen[i];
		if (seen[i] && (!i || !seen[i - 1]) && run++ < 4)
			printf("dirty run from byte %zu\n", i * page);
	}
	check("unwatch", wtrack_unwatch(t, text, pages * page));
}

int main(int argc, char **argv)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct wtrack_info info = { .size = sizeof(info) };
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	off_t len = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);

	check("needs a file that is not empty", len > 0 ? 0 : -22);
	page = (size_t)sysconf(_SC_PAGESIZE);
	pages = ((size_t)len + page - 1) / page;
	char *file = mmap(NULL, pages * page, PROT_READ, MAP_PRIVATE, fd, 0);
	char *map = mmap(NULL, pages * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE, fd, 0);
	char *buf = aligned_alloc(page, pages * page);
	seen = malloc(pages);

	options.require = WTRACK_CAP_FILES; /* the text is a mapped file */
	check("open", wtrack_open(&options, &t));
	check("watch", wtrack_watch(t, map, pages * page, 0));
	round_trip(map, (size_t)len, file);
	check("watch", wtrack_watch(t, buf, pages * page, 0));
	check("prepare", wtrack_prepare_write(t, buf, (size_t)len));
	check("read", pread(fd, buf, (size_t)len, 0) == len ? 0 : -5);
	collect(buf); /* read(2) made all of it dirty */
	edits = 0,
	edit_ns = 0; /* a first store to `map` also copies the page */
	round_trip(buf, (size_t)len, file);

	wtrack_info(t, &info);
	wtrack_close(t);
	free(buf);
	free(seen);
	printf("backend=%s pages=%zu written=%zu reported=%zu "
	       "first_write_ns=%.0f collect_us=%.1f\n",
	       info.backend, 2 * pages, written, reported,
	       edit_ns / (double)edits, collect_ns / 1e3);
	return lost != 0;
}
