/* SPDX-License-Identifier: MIT */
/*
 * case_bits.c: what the bits of pagemap say of memory of each kind that is
 * written to, swapped out, discarded, inherited, moved and given up.
 */
#include "bits.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES ((size_t)64)

static void kinds(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		follow(kind_names[kind], map(kind, HUGE), HUGE_PAGES);
}

static void huge_page(void)
{
	char *start = map(KIND_THP, 2 * HUGE);

	populate_thp(start, 2 * HUGE);
	follow("a huge page", start, HUGE_PAGES);
	check(thp_bytes() == HUGE, "the other huge page is split");
}

static void hugetlb(void)
{
	unsigned char *written = new_set(4 * HUGE_PAGES);
	char *start = map_hugetlb(4);

	store(start, 1);
	store(start + HUGE, 1);
	arm(start, 4 * HUGE, true);
	expect_all("hugetlb", start, 4 * HUGE_PAGES, true);
	load(start + 3 * HUGE);
	expect_all("hugetlb, read", start, 4 * HUGE_PAGES, true);
	/* One with contents, one without. */
	store(start + HUGE + 5 * PAGE, 7);
	store(start + 2 * HUGE + 5 * PAGE, 7);
	memset(written + HUGE_PAGES, 1, 2 * HUGE_PAGES);
	expect_bits("hugetlb, written", start, 4 * HUGE_PAGES, written);
	check(load(start + HUGE) == 1, "other contents");
}

/* By another process's call into this one, and by a pipe. */
static void kernel_writes(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start = map(kind, PAGES * PAGE), text[] = "12345678";
		unsigned char *written = new_set(PAGES);
		struct iovec from = { text, 8 };
		struct iovec to = { .iov_len = 8 };
		int ends[2];

		check(pipe(ends) == 0, "pipe: %s", strerror(errno));
		for (size_t i = 0; i < PAGES; i += 4)
			store(start + i * PAGE, 1);
		arm(start, PAGES * PAGE, true);
		for (size_t i = 0; i < PAGES; i += 6) {
			to.iov_base = start + i * PAGE;
			check(process_vm_writev(getpid(), &from, 1, &to, 1,
						0) == 8,
			      "process_vm_writev: %s", strerror(errno));
			check(write(ends[1], text, 8) == 8 &&
				      read(ends[0], start + (i + 1) * PAGE,
					   8) == 8,
			      "read(2) into it: %s", strerror(errno));
			written[i] = written[i + 1] = 1;
		}
		expect_bits(kind_names[kind], start, PAGES, written);
		close(ends[0]);
		close(ends[1]);
	}
}

static void swapped(void)
{
	char *start = map(KIND_ANON, PAGES * PAGE);
	unsigned char *written = new_set(PAGES);

	need_swap();
	for (size_t i = 0; i < PAGES; i++)
		store(start + i * PAGE, i);
	arm(start, PAGES * PAGE, true);
	if (swap_out(start, PAGES * PAGE) == 0)
		skip("nothing goes to swap");
	expect_all("in swap", start, PAGES, true);
	for (size_t i = 0; i < PAGES; i++) {
		if (i % 4 == 1) {
			store(start + i * PAGE, i);
			written[i] = 1;
		}
		check(load(start + i * PAGE) == i, "page %zu changed", i);
	}
	expect_bits("back from swap", start, PAGES, written);
}

/* Nothing was there that would come back, unlike with a file. */
static void discarded(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start = map(kind, PAGES * PAGE);

		for (size_t i = 0; i < PAGES; i += 2)
			store(start + i * PAGE, 1);
		arm(start, PAGES * PAGE, true);
		check(madvise(start, PAGES * PAGE, MADV_DONTNEED) == 0,
		      "madvise: %s", strerror(errno));
		expect_all(kind_names[kind], start, PAGES,
			   kind == KIND_SHMEM || kind == KIND_FILE);
	}
}

/* Neither resident, nor in the way of a collapse, nor made into one. */
static void empty_is_empty(void)
{
	char *start = map(KIND_THP, HUGE);
	unsigned char there[HUGE_PAGES];

	arm(start, HUGE, true);
	check(mincore(start, HUGE, there) == 0, "mincore: %s", strerror(errno));
	for (size_t i = 0; i < HUGE_PAGES; i++)
		check(!(there[i] & 1), "page %zu is resident", i);
	store(start, 1);
	(void)madvise(start, HUGE, ADVICE_COLLAPSE);
	check(thp_bytes() == 0, "armed pages become a huge page");
	expect_all("after a try to collapse", start + PAGE, HUGE_PAGES - 1,
		   true);
	arm(start, HUGE, false);
	check(uffd_register(uffd, start, HUGE) == 0, "register");
	for (size_t i = 0; i < HUGE_PAGES; i++)
		store(start + i * PAGE, 1);
	(void)madvise(start, HUGE, ADVICE_COLLAPSE);
	expect_all("all written to", start, HUGE_PAGES, false);
}

/* The child is not tracked; the parent's state stays. */
static void forked(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start = map(kind, PAGES * PAGE);
		unsigned char *written = new_set(PAGES);
		int status = 0;
		pid_t child;

		for (size_t i = 0; i < PAGES; i += 2)
			store(start + i * PAGE, 1);
		arm(start, PAGES * PAGE, true);
		child = fork();
		if (child == 0) {
			pagemap = pagemap_open();
			for (size_t i = 0; kind != KIND_SHMEM && i < PAGES;
			     i += 3)
				store(start + i * PAGE, 2);
			expect_all("child", start, PAGES, false);
			_exit(0);
		}
		check(child > 0 && waitpid(child, &status, 0) == child, "fork");
		if (status != 0)
			_exit(1);
		for (size_t i = 1; i < PAGES; i += 9) {
			store(start + i * PAGE, 3);
			written[i] = 1;
		}
		expect_bits(kind_names[kind], start, PAGES, written);
	}
}

/* A range that was moved, or is not registered any more, has no bits. */
static void given_up(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		char *start = map(kind, 2 * PAGES * PAGE);
		char *moved = reserve(PAGES * PAGE);

		for (size_t i = 0; i < 2 * PAGES; i += 2)
			store(start + i * PAGE, 1);
		arm(start, 2 * PAGES * PAGE, true);
		check(mremap(start, PAGES * PAGE, PAGES * PAGE,
			     MREMAP_MAYMOVE | MREMAP_FIXED, moved) == moved,
		      "mremap: %s", strerror(errno));
		expect_all("moved", moved, PAGES, false);
		start += PAGES * PAGE;
		expect_all("not moved", start, PAGES, true);
		store(moved + PAGE, 1);
		close(uffd);
		expect_all("closed", start, PAGES, false);
		store(start + PAGE, 1);
		uffd = uffd_open(FEATURES_ASYNC);
		check(uffd >= 0, "userfaultfd: %s", strerror(errno));
	}
}

#define REGISTER_MISSING 1
#define COPY_WP          2
#define UFFD_COPY        _IOWR(0xAA, 3, uint64_t[5])
#define UFFD_ZEROPAGE    _IOWR(0xAA, 4, uint64_t[4])
#define UFFD_REGISTER    _IOWR(0xAA, 0, uint64_t[4])

/* What replaces an empty entry also replaces one that is armed. */
static void filled_in(void)
{
	char *start = map(KIND_ANON, PAGES * PAGE), page[PAGE];
	uint64_t both[4] = { (uintptr_t)start, PAGES * PAGE,
			     REGISTER_MISSING | 2 };
	uint64_t zero[4] = { (uintptr_t)start, 2 * PAGE };
	uint64_t copy[5] = { (uintptr_t)start + 4 * PAGE, (uintptr_t)page, PAGE,
			     COPY_WP };

	memset(page, 1, sizeof(page));
	check(ioctl(uffd, UFFD_REGISTER, both) == 0, "register: %s",
	      strerror(errno));
	arm(start, PAGES * PAGE, true);
	check(ioctl(uffd, UFFD_ZEROPAGE, zero) == 0, "UFFDIO_ZEROPAGE: %s",
	      strerror(errno));
	check(ioctl(uffd, UFFD_COPY, copy) == 0, "UFFDIO_COPY: %s",
	      strerror(errno));
	copy[0] += PAGE;
	copy[3] = 0;
	check(ioctl(uffd, UFFD_COPY, copy) == 0, "UFFDIO_COPY: %s",
	      strerror(errno));
	check(load(start) == 0 && load(start + 4 * PAGE) && !is_armed(start) &&
		      is_armed(start + 4 * PAGE) && !is_armed(start + 5 * PAGE),
	      "other contents or bits");
	store(start + 4 * PAGE, 1);
	check(!is_armed(start + 4 * PAGE), "armed after a store");
}

const struct test bits_tests[] = {
	{ "bits_kinds", kinds },
	{ "bits_huge_page", huge_page },
	{ "bits_hugetlb", hugetlb },
	{ "bits_kernel_writes", kernel_writes },
	{ "bits_swapped", swapped },
	{ "bits_discarded", discarded },
	{ "bits_empty_is_empty", empty_is_empty },
	{ "bits_forked", forked },
	{ "bits_given_up", given_up },
	{ "bits_filled_in", filled_in },
	{ 0 },
};
