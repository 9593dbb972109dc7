/* SPDX-License-Identifier: MIT */
/* sparse.c: makes the chunks of a sparse map. */
#include "sparse.h"

#include <errno.h>

static int reserve_chunk(struct wt_sparse *m, uintptr_t i, size_t bytes)
{
	void ***d = &m->directory[i >> WT_SPARSE_LOW];
	void **slot, *p;
	int rc;

	if (!*d) {
		rc = wt_map(sizeof(void *) << WT_SPARSE_LOW, &p, &m->bytes);
		if (rc)
			return rc;
		__atomic_store_n(d, (void **)p, __ATOMIC_RELEASE);
	}
	slot = &(*d)[i & ((1u << WT_SPARSE_LOW) - 1)];
	if (*slot)
		return 0;
	rc = wt_map(bytes, &p, &m->bytes);
	if (!rc)
		__atomic_store_n(slot, p, __ATOMIC_RELEASE);
	return rc;
}

int wt_sparse_reserve(struct wt_sparse *m, uintptr_t page, uintptr_t last,
		      size_t bytes)
{
	uintptr_t i = page >> WT_SPARSE_SHIFT;
	int rc = 0;

	for (; !rc && i << WT_SPARSE_SHIFT < last; i++)
		rc = i >> (WT_SPARSE_LOW + WT_SPARSE_HIGH)
			     ? -ENOMEM
			     : reserve_chunk(m, i, bytes);
	return rc;
}
