/* SPDX-License-Identifier: MIT */
/*
 * live_sandbox_mounts.c: containers, which hide files by mounting over them.
 *
 * cloud-hypervisor PR#8165: in user namespaces the device may be all that is
 * left, and nobody says which door is shut.  Each case is a process in a mount
 * namespace of its own.
 */
#include "support_sandbox.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct wtrack_info info;

static void own_mounts(int flags)
{
	assert_int_equal(unshare(CLONE_NEWNS | flags), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
}

static void empty(const char *dir)
{
	assert_int_equal(mount("none", dir, "tmpfs", MS_RDONLY, NULL), 0);
}

/* As container engines mask a file. */
static void mask(const char *file)
{
	assert_int_equal(mount("/dev/null", file, NULL, MS_BIND, NULL), 0);
}

static void assert_works_on(const char *backend)
{
	struct wtrack *t = open_in_sandbox(backend, &info);

	assert_nothing_lost(t);
	wtrack_close(t);
}

static void a_missing_device_is_not_needed(void **state)
{
	(void)state;
	own_mounts(0);
	empty("/dev");
	assert_works_on(BEST_OF_ALL);
	assert_int_equal(info.door_device, -ENOENT);
	assert_int_equal(info.door_syscall, 0);
}

static void a_masked_device_is_not_needed(void **state)
{
	(void)state;
	own_mounts(0);
	mask("/dev/userfaultfd");
	assert_works_on(BEST_OF_ALL);
	assert_int_equal(info.door_device, -ENOTTY);
	assert_int_equal(info.door_syscall, 0);
}

/* Not to be taken for the real one, though it opens. */
static void a_masked_pagemap_is_noticed(void **state)
{
	(void)state;
	own_mounts(0);
	mask("/proc/self/pagemap");
	assert_works_on(WITHOUT_PAGEMAP);
	assert_int_equal(info.door_pagemap, 0);
	assert_true(info.door_selftest < 0);
}

/* The list of mappings is a luxury: empty, it says nothing. */
static void a_masked_list_of_mappings_loses_nothing(void **state)
{
	(void)state;
	own_mounts(0);
	mask("/proc/self/maps");
	assert_works_on(BEST_OF_ALL);
}

static void without_proc_a_backend_is_found(void **state)
{
	(void)state;
	own_mounts(0);
	empty("/proc");
	assert_works_on(WITHOUT_PAGEMAP);
	assert_int_equal(info.door_pagemap, -ENOENT);
	/* Nobody tells whether a mapping was replaced. */
	assert_false(info.caps & WTRACK_CAP_LOSS);
}

static void without_proc_and_dev_a_backend_is_found(void **state)
{
	(void)state;
	own_mounts(0);
	empty("/proc");
	empty("/dev");
	assert_works_on(WITHOUT_PAGEMAP);
}

static void what_is_hidden_later_was_open_before(void **state)
{
	struct wtrack *t = open_on(*state);

	own_mounts(0);
	empty("/proc");
	empty("/dev");
	assert_nothing_lost(t);
	wtrack_close(t);
}

/* ---- user namespaces, whose root is nobody outside ---- */

static void enter_user_namespace(void)
{
	become_nobody();
	prctl(PR_SET_DUMPABLE, 1);
	own_mounts(CLONE_NEWUSER);
}

static void root_of_a_user_namespace_tracks_as_well(void **state)
{
	(void)state;
	enter_user_namespace();
	assert_works_on(BEST_OF_ALL);
	/* One door is open, and those before it say why they were not. */
	if (info.door_device)
		assert_int_equal(info.door_device, -EACCES);
	if (info.door_device && info.door_syscall)
		assert_int_equal(info.door_syscall, -EPERM);
}

static void a_container_without_proc_and_dev_loses_nothing(void **state)
{
	(void)state;
	enter_user_namespace();
	empty("/proc");
	empty("/dev");
	assert_works_on(WITHOUT_PAGEMAP);
}

/* ---- what lacks ---- */

static void try_mounts(void *arg)
{
	(void)arg;
	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(1);
}

static void try_user_namespace(void *arg)
{
	become_nobody();
	if (unshare(CLONE_NEWUSER))
		_exit(1);
	try_mounts(arg);
}

static const char *lacks_mounts(void)
{
	if (lacks_root())
		return lacks_root();
	if (access("/dev/userfaultfd", R_OK | W_OK))
		return "/dev/userfaultfd cannot be opened";
	if (run_in_child(try_mounts, NULL))
		return "it may not mount";
	return lacks_scan();
}

static const char *lacks_user_namespaces(void)
{
	const char *why = lacks_mounts();

	if (!why && run_in_child(try_user_namespace, NULL))
		why = "nobody may have a user namespace";
	return why;
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_FRESH(a_missing_device_is_not_needed, lacks_mounts),
		CASE_FRESH(a_masked_device_is_not_needed, lacks_mounts),
		CASE_FRESH(a_masked_pagemap_is_noticed, lacks_mounts),
		CASE_FRESH(a_masked_list_of_mappings_loses_nothing,
			   lacks_mounts),
		CASE_FRESH(without_proc_a_backend_is_found, lacks_mounts),
		CASE_FRESH(without_proc_and_dev_a_backend_is_found,
			   lacks_mounts),
		{ .name = "what_is_hidden_later_was_open_before",
		  .run = what_is_hidden_later_was_open_before,
		  .each_backend = true,
		  .fresh = true,
		  .lacks = lacks_mounts },
		CASE_FRESH(root_of_a_user_namespace_tracks_as_well,
			   lacks_user_namespaces),
		CASE_FRESH(a_container_without_proc_and_dev_loses_nothing,
			   lacks_user_namespaces),
	};

	return RUN_FRESH_OR_ALL("sandbox_mounts", cases, argc, argv);
}
