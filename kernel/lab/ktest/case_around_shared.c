/* SPDX-License-Identifier: MIT */
/*
 * case_around_shared.c: vm.uffd_wp_async_around makes no page writable that
 * somebody else sees, and none that another one must hear of.
 */
#include "around.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child shares is copied at the next store, un-armed or not. */
static void shared_after_fork(void)
{
	unsigned char want[PAGES] = { 0 };
	int go[2], status = 0;
	char *start, byte;
	pid_t child;

	around_switch(BLOCK);
	start = around_memory(KIND_ANON);
	check(pipe(go) == 0, "pipe: %s", strerror(errno));
	child = fork();
	if (child == 0) {
		close(go[1]);
		check(read(go[0], &byte, 1) == 1, "no word from the parent");
		for (size_t i = 0; i < PAGES; i++)
			check(load(start + i * PAGE) == 1000 + i,
			      "page %zu changed in the child", i);
		_exit(0);
	}
	check(child > 0, "fork: %s", strerror(errno));
	for (int round = 0; round < 3; round++) {
		memset(want, 0, PAGES);
		for (size_t i = 0; i < PAGES; i++)
			if (i % 20 < 5)
				around_write(start, i, want);
		around_expect("shared", start, want);
	}
	check(write(go[1], "x", 1) == 1 &&
		      waitpid(child, &status, 0) == child && status == 0,
	      "the child sees the parent's stores");
}

static void set_ksm(const char *file, const char *value)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/mm/ksm/%s", file);
	f = fopen(path, "we");
	if (!f || fprintf(f, "%s\n", value) < 0 || fclose(f) != 0)
		skip("no KSM: %s", strerror(errno));
}

static void merged(void)
{
	unsigned char want[PAGES] = { 0 };
	char *start;

	around_switch(BLOCK);
	start = map(KIND_ANON, SIZE);
	for (size_t i = 0; i < PAGES; i++)
		store(start + i * PAGE, i % 2 ? 4242 : i);
	if (madvise(start, SIZE, MADV_MERGEABLE) != 0)
		skip("no KSM: %s", strerror(errno));
	set_ksm("pages_to_scan", "10000");
	set_ksm("run", "1");
	for (int i = 0; i < 200; i++) {
		usleep(20000);
		if (counter("/proc/self/ksm_stat", "ksm_merging_pages") >=
		    (long)PAGES / 2 - 4)
			break;
	}
	set_ksm("run", "0");
	if (counter("/proc/self/ksm_stat", "ksm_merging_pages") < 8)
		skip("KSM merges nothing");
	arm(start, SIZE, true);
	for (size_t i = 16; i < 32; i += 2) {
		around_write(start, i, want);
		around_write(start, i + 1, want);
	}
	for (size_t i = 0; i < PAGES; i++)
		check(load(start + i * PAGE) == (want[i] ? 7
						 : i % 2 ? 4242
							 : i),
		      "page %zu changed with another one", i);
	around_expect("merged", start, want);
}

static void soft_dirty_too(void)
{
	char *start;
	FILE *f;

	around_switch(BLOCK);
	start = around_memory(KIND_ANON);
	if (~pagemap_entry(pagemap, start) & (1ull << 55))
		skip("no soft-dirty");
	f = fopen("/proc/self/clear_refs", "we");
	check(f && fputs("4", f) >= 0 && fclose(f) == 0, "clear_refs");
	for (size_t i = 20; i < 24; i++) {
		store(start + i * PAGE, 7);
		check(pagemap_entry(pagemap, start + i * PAGE) & (1ull << 55),
		      "page %zu was written and is not soft-dirty", i);
	}
	check(~pagemap_entry(pagemap, start + 30 * PAGE) & (1ull << 55),
	      "page 30 is soft-dirty and nobody wrote to it");
}

/* What the kernel's gup_test takes. */
struct pin {
	uint64_t address;
	uint64_t size;
	uint32_t flags;
};
#define PIN_START   _IOW('g', 7, struct pin)
#define PIN_STOP    _IO('g', 8)
#define PIN_READ    _IOW('g', 9, uint64_t)
#define PIN_WRITING 1u

/* A device would see what the memory holds, before and after each store. */
static void pinned_for(int gup, uint32_t flags)
{
	unsigned char want[PAGES] = { 0 };
	char *start = around_memory(KIND_ANON), *copy = map(KIND_ANON, PAGE);
	uint64_t to = (uintptr_t)copy;
	struct pin pin = { (uintptr_t)start + 21 * PAGE, PAGE, flags };

	check(ioctl(gup, PIN_START, &pin) == 0, "pin: %s", strerror(errno));
	arm(start, SIZE, true);
	for (size_t i = 20; i < 24; i++)
		around_write(start, i, want);
	check(ioctl(gup, PIN_READ, &to) == 0, "pin: %s", strerror(errno));
	check(load(copy) == 7, "pinned for %s: the pinned page holds %llu",
	      flags ? "writing" : "reading", (unsigned long long)load(copy));
	around_expect("pinned", start, want);
	check(ioctl(gup, PIN_STOP) == 0, "pin: %s", strerror(errno));
}

static void pinned(void)
{
	int gup = open("/sys/kernel/debug/gup_test", O_RDWR | O_CLOEXEC);

	around_switch(BLOCK);
	if (gup < 0)
		skip("no gup_test in debugfs: %s", strerror(errno));
	pinned_for(gup, PIN_WRITING);
	pinned_for(gup, 0);
}

const struct test around_shared_tests[] = {
	{ "around_shared_after_fork", shared_after_fork },
	{ "around_merged", merged },
	{ "around_soft_dirty_too", soft_dirty_too },
	{ "around_pinned", pinned },
	{ 0 },
};
