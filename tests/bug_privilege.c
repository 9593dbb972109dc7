/* SPDX-License-Identifier: MIT */
/*
 * bug_privilege.c: processes that may not do all that root may.
 *
 * shadps4-emu/shadPS4#1680, bytecodealliance/userfaultfd-rs#16, and more
 * (ofiwg/libfabric PR#10367, php/php-src PR#13955, struct/isoalloc PR#228):
 * userfaultfd is refused with EPERM, which USER_MODE_ONLY would have cured.
 * cloud-hypervisor PR#8165: nobody says which door was shut, and why.
 * moby/moby#42871, SELinuxProject/selinux-kernel#48, microsoft/WSL#9993,
 * siderolabs/talos#13373: a filter or a kernel refuses, with any errno.
 * rr-debugger/rr#2852: another backend must be possible from outside.
 */
#include "support_sandbox.h"

#include "sys.h"
#include "uapi.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct wtrack *tracker;
static struct wtrack_info info;

static const char *open_best(void)
{
	info.size = sizeof(info);
	assert_int_equal(wtrack_open(NULL, &tracker), 0);
	assert_int_equal(wtrack_info(tracker, &info), 0);
	return info.backend;
}

static void assert_tracks(void)
{
	char *p = map_watched(tracker, 8);

	touch(p, 2);
	touch(p, 5);
	assert_dirty(tracker, p, 2, 5);
	clear_all(tracker);
	assert_clean(tracker);
	touch(p, 6);
	assert_dirty(tracker, p, 6);
	unmap_pages(p, 8);
}

/* ---- without privilege ---- */

/* As a program that nobody started, not one that became nobody. */
static void an_unprivileged_process_tracks_as_well(void **state)
{
	(void)state;
	become_nobody();
	execl("/proc/self/exe", "bug_privilege", "track_as_nobody",
	      (char *)NULL);
	fail_msg("exec: %s", strerror(errno));
}

static void track_as_nobody(void)
{
	assert_int_equal(geteuid(), NOBODY);
	assert_string_equal(open_best(), "scan");
	assert_tracks();
	/* One door is open, and those before it say why they were not. */
	if (info.door_device != 0)
		assert_int_equal(info.door_device, -EACCES);
	if (info.door_device && info.door_syscall)
		assert_int_equal(info.door_syscall, -EPERM);
	assert_true(!info.door_device || !info.door_syscall || !info.door_user);
	assert_true(info.caps & WTRACK_CAP_KERNEL_WRITES);
}

/* /proc/self/pagemap belongs to root then. */
static void a_process_that_cannot_be_dumped_falls_back(void **state)
{
	(void)state;
	become_nobody();
	assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
	assert_string_equal(open_best(), "mprotect");
	assert_int_equal(info.door_pagemap, -EACCES);
	assert_int_equal(info.door_signal, 0);
	assert_tracks();
}

/* ---- filters ---- */

/* Answers a system call, and for ioctl only a request, with `action`. */
static void filter(unsigned nr, unsigned long request, unsigned action)
{
	const unsigned low = offsetof(struct seccomp_data, args[1]);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low),
		BPF_JUMP(BPF_JMP | (request ? BPF_JEQ : BPF_JGE) | BPF_K,
			 (unsigned)request, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), 0);
}

static void refuse_userfaultfd(int error)
{
	become_nobody();
	prctl(PR_SET_DUMPABLE, 1);
	filter(SYS_userfaultfd, 0, SECCOMP_RET_ERRNO | (unsigned)error);
	assert_string_equal(open_best(), "mprotect");
	assert_int_equal(info.door_syscall, -error);
	assert_int_equal(info.door_user, -error);
	assert_int_equal(info.door_selftest, -error);
	assert_tracks();
}

static void refuse_scan(int error)
{
	filter(SYS_ioctl, WT_PAGEMAP_SCAN, SECCOMP_RET_ERRNO | (unsigned)error);
	assert_string_equal(open_best(), "async");
	assert_true(info.door_selftest < 0);
	assert_int_equal(info.door_pagemap, 0);
	assert_tracks();
}

#define REFUSED(name, how, error)      \
	static void name(void **state) \
	{                              \
		(void)state;           \
		how(error);            \
	}

REFUSED(userfaultfd_is_filtered_with_eperm, refuse_userfaultfd, EPERM)
REFUSED(userfaultfd_is_filtered_with_enosys, refuse_userfaultfd, ENOSYS)
REFUSED(userfaultfd_is_filtered_with_eacces, refuse_userfaultfd, EACCES)
REFUSED(userfaultfd_is_filtered_with_einval, refuse_userfaultfd, EINVAL)
REFUSED(pagemap_scan_is_filtered_with_enotty, refuse_scan, ENOTTY)
REFUSED(pagemap_scan_is_filtered_with_eperm, refuse_scan, EPERM)
REFUSED(pagemap_scan_is_filtered_with_enosys, refuse_scan, ENOSYS)

/* Whoever filters by killing can name a backend that does not ask. */
static void a_filter_that_kills_is_avoided_by_name(void **state)
{
	(void)state;
	filter(SYS_userfaultfd, 0, SECCOMP_RET_KILL_PROCESS);
	setenv("WTRACK_BACKEND", "mprotect", 1);
	assert_string_equal(open_best(), "mprotect");
	assert_int_equal(info.door_syscall, WTRACK_NOT_TRIED);
	assert_tracks();
}

/* ---- from outside ---- */

static void the_environment_names_the_backend(void **state)
{
	struct wtrack_options o = WTRACK_OPTIONS_INIT;

	(void)state;
	for (size_t i = 0; i < N_BACKENDS; i++) {
		setenv("WTRACK_BACKEND", backend_names[i], 1);
		if (wtrack_open(NULL, &tracker))
			continue;
		assert_string_equal(open_best(), backend_names[i]);
		o.backend = backend_names[N_BACKENDS - 1 - i];
		assert_int_equal(wtrack_open(&o, &tracker), 0);
		assert_int_equal(wtrack_info(tracker, &info), 0);
		assert_string_equal(info.backend, backend_names[i]);
	}
	assert_non_null(tracker);
}

/* Runs a copy of this program that has the set-user-ID bit. */
static void the_environment_is_ignored_in_setuid_programs(void **state)
{
	char path[] = "/tmp/wtrack-test-XXXXXX", block[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = mkostemp(path, 0);
	ssize_t n;

	(void)state;
	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, block, sizeof(block))) > 0)
		assert_int_equal(write(to, block, (size_t)n), n);
	assert_int_equal(fchown(to, NOBODY, NOBODY), 0);
	assert_int_equal(fchmod(to, 04755), 0);
	close(to); /* or it could not be executed */
	to = open(path, O_PATH);
	unlink(path);
	setenv("WTRACK_BACKEND", "all", 1);
	setenv("WTRACK_FAIL", "open:EIO", 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	execl(path, "bug_privilege", "open_with_setuid_bit", (char *)NULL);
	fail_msg("exec: %s", strerror(errno));
}

static void open_with_setuid_bit(void)
{
	if (geteuid() != NOBODY) {
		fprintf(stderr, "# the bit has no effect in /tmp\n");
		return;
	}
	assert_string_not_equal(open_best(), "all");
	assert_int_not_equal(info.door_device, -EIO);
	assert_null(wt_sys_hook);
}

/* ---- one attempt for each descriptor ---- */

static int handshakes[1024];

static bool refuse_handshake(enum wt_sys id, const long args[6], long *result)
{
	if (id == WT_SYS_CLOSE && args[0] >= 0 && args[0] < 1024)
		handshakes[args[0]] = 0;
	if (id != WT_SYS_IOCTL || args[1] != (long)WT_UFFDIO_API)
		return false;
	handshakes[args[0]]++;
	assert_int_equal(handshakes[args[0]], 1);
	*result = -EINVAL;
	return true;
}

/*
 * linux-test-project/ltp#1289: a UFFDIO_API that asks for what is not there
 * fails, and leaves a descriptor that is of no use any more.
 */
static void no_descriptor_is_asked_twice(void **state)
{
	struct usage before, after;

	(void)state;
	before = usage_now();
	at_the_door(refuse_handshake);
	assert_string_equal(open_best(), "mprotect");
	at_the_door(NULL);
	wtrack_close(tracker);
	after = usage_now();
	assert_int_equal(before.fds, after.fds);
}

static const char *lacks_nobody(void)
{
	return lacks_root() ? lacks_root() : lacks_scan();
}

static const char *lacks_filters(void)
{
	if (prctl(PR_GET_SECCOMP) < 0)
		return "the kernel has no filters";
	return lacks_nobody();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_FRESH(an_unprivileged_process_tracks_as_well,
			   lacks_nobody),
		CASE_FRESH(a_process_that_cannot_be_dumped_falls_back,
			   lacks_nobody),
		CASE_FRESH(userfaultfd_is_filtered_with_eperm, lacks_filters),
		CASE_FRESH(userfaultfd_is_filtered_with_enosys, lacks_filters),
		CASE_FRESH(userfaultfd_is_filtered_with_eacces, lacks_filters),
		CASE_FRESH(userfaultfd_is_filtered_with_einval, lacks_filters),
		CASE_FRESH(pagemap_scan_is_filtered_with_enotty, lacks_filters),
		CASE_FRESH(pagemap_scan_is_filtered_with_eperm, lacks_filters),
		CASE_FRESH(pagemap_scan_is_filtered_with_enosys, lacks_filters),
		CASE_FRESH(a_filter_that_kills_is_avoided_by_name,
			   lacks_filters),
		CASE_FRESH(the_environment_names_the_backend, NULL),
		CASE_FRESH(the_environment_is_ignored_in_setuid_programs,
			   lacks_nobody),
		CASE_FRESH(no_descriptor_is_asked_twice, lacks_mprotect),
	};

	if (argc > 1 && !strcmp(argv[1], "track_as_nobody")) {
		track_as_nobody();
		_exit(0);
	}
	if (argc > 1 && !strcmp(argv[1], "open_with_setuid_bit")) {
		open_with_setuid_bit();
		_exit(0); /* a leak check would fail without privilege */
	}
	return RUN_FRESH_OR_ALL("privilege", cases, argc, argv);
}
