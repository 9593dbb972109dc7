/* SPDX-License-Identifier: MIT */
/* options.c: size-first structs in and out, and WTRACK_BACKEND. */
#include "options.h"
#include "policy.h"
#include "sys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_CAPS                                                            \
	(WTRACK_CAP_PRECISE | WTRACK_CAP_KERNEL_WRITES | WTRACK_CAP_DISCARD | \
	 WTRACK_CAP_LOSS | WTRACK_CAP_NO_SIGNAL | WTRACK_CAP_FILES |          \
	 WTRACK_CAP_PROTECT | WTRACK_CAP_CONCURRENT)

#define KNOWN_FLAGS (WTRACK_OPEN_HOST_SIGNALS | WTRACK_OPEN_THREAD)

static bool all_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* Whatever the size of huge pages: more would only cost precision. */
#define GRAIN_MOST ((size_t)2 << 20)

static int check_grain(size_t grain)
{
	if (grain && (grain < wt_page_size() || grain > GRAIN_MOST ||
		      (grain & (grain - 1))))
		return -EINVAL;
	return 0;
}

int wt_struct_take(const void *from, void *out, size_t known)
{
	size_t size;

	memcpy(&size, from, sizeof(size));
	if (size < sizeof(size))
		return -EINVAL;
	if (size > known &&
	    !all_zero((const unsigned char *)from + known, size - known))
		return -E2BIG;
	memset(out, 0, known);
	memcpy(out, from, size < known ? size : known);
	return 0;
}

static int take(const struct wtrack_options *opts, struct wtrack_options *out)
{
	struct wt_policy ignored;
	int rc = wt_struct_take(opts, out, sizeof(*out));

	if (rc)
		return rc;
	if ((out->flags & ~(uint64_t)KNOWN_FLAGS) ||
	    (out->require & ~(uint64_t)KNOWN_CAPS))
		return -EINVAL;
	rc = check_grain(out->grain);
	if (!rc && out->policy)
		rc = wt_policy_read(out->policy, &ignored);
	return rc;
}

int wt_options_read(const struct wtrack_options *opts,
		    struct wtrack_options *out)
{
	const char *forced = secure_getenv("WTRACK_BACKEND");
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (opts)
		rc = take(opts, out);
	if (forced && *forced)
		out->backend = forced;
	return rc;
}

int wt_struct_give(void *to, const void *from)
{
	size_t room, have;

	memcpy(&room, to, sizeof(room));
	memcpy(&have, from, sizeof(have));
	if (room <= sizeof(room))
		return -EINVAL;
	memset((char *)to + sizeof(room), 0, room - sizeof(room));
	memcpy((char *)to + sizeof(room), (const char *)from + sizeof(have),
	       (room < have ? room : have) - sizeof(room));
	return 0;
}
