/* SPDX-License-Identifier: MIT */
/*
 * uapi.h: interfaces of the kernel that the headers of an older system lack.
 */
#ifndef KBENCH_UAPI_H
#define KBENCH_UAPI_H

#include <linux/ioctl.h>
#include <stdint.h>

#define FEATURE_WP             (UINT64_C(1) << 0)
#define FEATURE_WP_UNPOPULATED (UINT64_C(1) << 13)
#define FEATURE_WP_ASYNC       (UINT64_C(1) << 15)
#define USER_MODE_ONLY         1

#define IS_WRITTEN (UINT64_C(1) << 1)
#define IS_PRESENT (UINT64_C(1) << 3)

#define SCAN_ARM     (UINT64_C(1) << 0)
#define SCAN_TRACKED (UINT64_C(1) << 1)

struct region {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

struct scan_arg {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t vec;
	uint64_t vec_len;
	uint64_t max_pages;
	uint64_t category_inverted;
	uint64_t category_mask;
	uint64_t category_anyof_mask;
	uint64_t return_mask;
};

#define PAGEMAP_SCAN _IOWR('f', 16, struct scan_arg)

#endif
