/* SPDX-License-Identifier: MIT */
/*
 * uapi.h: the kernel interfaces used here, defined by ourselves.
 *
 * Distributions ship headers older than the kernels they run (Debian 12's
 * have neither WP_ASYNC nor PAGEMAP_SCAN), so nothing is taken from <linux/>.
 * The layouts are kernel ABI and frozen.
 */
#ifndef WT_UAPI_H
#define WT_UAPI_H

#include <stdint.h>
#include <sys/ioctl.h>

#ifdef __ILP32__
#error "libwtrack needs a 64-bit system"
#endif

/* userfaultfd */
#define WT_USERFAULTFD_IOC_NEW  _IO(0xAA, 0x00)
#define WT_UFFD_USER_MODE_ONLY  1u
#define WT_UFFD_API             0xAAu
#define WT_FEATURE_PAGEFAULT_WP (1ull << 0)
#define WT_FEATURE_SIGBUS       (1ull << 7)
#define WT_FEATURE_WP_HUGE_SHM  (1ull << 12)
#define WT_FEATURE_WP_UNPOP     (1ull << 13)
#define WT_FEATURE_WP_ASYNC     (1ull << 15)

struct wt_uffdio_api {
	uint64_t api;
	uint64_t features;
	uint64_t ioctls;
};

struct wt_uffdio_range {
	uint64_t start;
	uint64_t len;
};

#define WT_REGISTER_MODE_WP (1ull << 1)

struct wt_uffdio_register {
	struct wt_uffdio_range range;
	uint64_t mode;
	uint64_t ioctls;
};

#define WT_WRITEPROTECT_MODE_WP       (1ull << 0)
#define WT_WRITEPROTECT_MODE_DONTWAKE (1ull << 1)

struct wt_uffdio_writeprotect {
	struct wt_uffdio_range range;
	uint64_t mode;
};

#define WT_UFFD_EVENT_PAGEFAULT 0x12u

/* What read(2) of a userfaultfd stores. */
struct wt_uffd_msg {
	uint8_t event;
	uint8_t reserved[7];
	uint64_t flags;
	uint64_t address;
	uint64_t thread;
};

#define WT_UFFDIO_API          _IOWR(0xAA, 0x3F, struct wt_uffdio_api)
#define WT_UFFDIO_REGISTER     _IOWR(0xAA, 0x00, struct wt_uffdio_register)
#define WT_UFFDIO_UNREGISTER   _IOR(0xAA, 0x01, struct wt_uffdio_range)
#define WT_UFFDIO_WAKE         _IOR(0xAA, 0x02, struct wt_uffdio_range)
#define WT_UFFDIO_WRITEPROTECT _IOWR(0xAA, 0x06, struct wt_uffdio_writeprotect)

/* PAGEMAP_SCAN, on a /proc/PID/pagemap descriptor */
#define WT_PAGE_IS_WPALLOWED (1ull << 0)
#define WT_PAGE_IS_WRITTEN   (1ull << 1)
#define WT_PAGE_IS_PRESENT   (1ull << 3)
#define WT_PAGE_IS_SWAPPED   (1ull << 4)
#define WT_PM_WP_MATCHING    (1ull << 0)
#define WT_PM_CHECK_WPASYNC  (1ull << 1)

struct wt_page_region {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

struct wt_pm_scan_arg {
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
#define WT_PAGEMAP_SCAN _IOWR('f', 16, struct wt_pm_scan_arg)

/* The 64-bit entries that pread(2) gets there, one a page */
#define WT_PM_SOFT_DIRTY (1ull << 55)
#define WT_PM_UFFD_WP    (1ull << 57)

/* PROCMAP_QUERY, on a /proc/PID/maps descriptor (since 6.11) */
#define WT_PROCMAP_READABLE   0x01u
#define WT_PROCMAP_WRITABLE   0x02u
#define WT_PROCMAP_EXECUTABLE 0x04u
#define WT_PROCMAP_SHARED     0x08u
#define WT_PROCMAP_OR_NEXT    0x10u

struct wt_procmap_query {
	uint64_t size;
	uint64_t query_flags;
	uint64_t query_addr;
	uint64_t vma_start;
	uint64_t vma_end;
	uint64_t vma_flags;
	uint64_t vma_page_size;
	uint64_t vma_offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t vma_name_size;
	uint32_t build_id_size;
	uint64_t vma_name_addr;
	uint64_t build_id_addr;
};
#define WT_PROCMAP_QUERY _IOWR('f', 17, struct wt_procmap_query)

#define WT_MEMBARRIER_PRIVATE_EXPEDITED          8
#define WT_MEMBARRIER_REGISTER_PRIVATE_EXPEDITED 16

#define WT_MADV_WIPEONFORK    18
#define WT_MADV_POPULATE_READ 22

#endif
