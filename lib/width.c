/* SPDX-License-Identifier: MIT */
/*
 * width.c: reads the kernel's settings of how much a store un-arms, and flags
 * the runs that may be too much by them.
 */
#include "width.h"
#include "heat.h"
#include "page.h"
#include "sys.h"

#include <fcntl.h>

/* A decimal number and a new line, or less. */
#define DIGITS 16

static long setting(const char *path)
{
	char text[DIGITS];
	long value = 0;
	ssize_t n;
	int fd = wt_sys_open(path, O_RDONLY);

	if (fd < 0)
		return 0;
	n = wt_sys_pread(fd, text, sizeof(text), 0);
	wt_sys_close(fd);
	for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		value = 10 * value + (text[i] - '0');
	return value;
}

struct wt_width wt_width_read(void)
{
	const struct wt_width w = {
		.around = setting("/proc/sys/vm/uffd_wp_async_around") > 1,
		.huge = setting("/proc/sys/vm/uffd_wp_async_huge") > 0,
	};

	return w;
}

void wt_width_flag_huge(const struct wt_width *w, const struct wt_span *s,
			struct wt_sink *sink, size_t from)
{
	size_t block = wt_huge_size(), part = wt_heat_block();

	/* One store may dirty it whole: a file's, or where that is set. */
	if (!(s->attr & WT_FILE) && !w->huge)
		return;
	/* A policy looks at it in parts, if huge pages are larger. */
	if ((s->attr & WT_POLICY) && part < block)
		block = part;
	/* The last run that was there may have grown by it. */
	from -= from > 0;
	wt_sink_flag_blocks(sink, from, block);
	wt_sink_join(sink, from);
}
