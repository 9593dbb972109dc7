/* SPDX-License-Identifier: MIT */
/*
 * unit_doors.c: each way into the kernel is refused, and what open then takes.
 *
 * A backend is tried once per process, so every refusal is played in a process
 * of its own: `unit_doors NUMBER ERRNO`, with the number of a scene.
 */
#include "support.h"

#include "sys.h"
#include "uapi.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum door {
	DEVICE = 1,
	SYSCALL = 2,
	USER = 4,
	PAGEMAP = 8,
	API = 16,
	REGISTER = 32,
	WRITEPROTECT = 64,
	SCAN = 128,
	QUERY = 256,
	MPROTECT = 512,
	MAPS = 1024,
	PIPE = 2048,
};

/* What a door must say afterwards, where it is not a plain errno. */
#define OPEN   0
#define SHUT   (-1) /* the errno of the scene */
#define UNUSED WTRACK_NOT_TRIED
#define ANY    2

static const struct scene {
	const char *name;
	unsigned refused; /* doors */
	const char *backend;
	int device, syscall, user, pagemap, selftest, signal;
} scenes[] = {
	{ "nothing", 0, "scan", OPEN, UNUSED, UNUSED, OPEN, OPEN, UNUSED },
	{ "the device", DEVICE, "scan", SHUT, OPEN, UNUSED, OPEN, OPEN,
	  UNUSED },
	{ "the device and the system call", DEVICE | SYSCALL, "scan", SHUT,
	  SHUT, OPEN, OPEN, OPEN, UNUSED },
	{ "every userfaultfd", DEVICE | SYSCALL | USER, "mprotect", SHUT, SHUT,
	  SHUT, OPEN, SHUT, OPEN },
	{ "the features", API, "mprotect", SHUT, SHUT, SHUT, OPEN, SHUT, OPEN },
	{ "pagemap", PAGEMAP, "mprotect", ANY, ANY, ANY, SHUT, SHUT, OPEN },
	{ "to register", REGISTER, "mprotect", OPEN, UNUSED, UNUSED, OPEN, ANY,
	  OPEN },
	{ "to write-protect", WRITEPROTECT, "mprotect", OPEN, UNUSED, UNUSED,
	  OPEN, ANY, OPEN },
	{ "PAGEMAP_SCAN", SCAN, "async", OPEN, UNUSED, UNUSED, OPEN, ANY,
	  UNUSED },
	{ "the query of mappings", QUERY, "scan", OPEN, UNUSED, UNUSED, OPEN,
	  OPEN, UNUSED },
	{ "mprotect alone", MPROTECT, "scan", OPEN, UNUSED, UNUSED, OPEN, OPEN,
	  UNUSED },
	{ "PAGEMAP_SCAN and mprotect", SCAN | MPROTECT, "async", OPEN, UNUSED,
	  UNUSED, OPEN, ANY, UNUSED },
	{ "to register and mprotect", REGISTER | MPROTECT, "all", OPEN, UNUSED,
	  UNUSED, OPEN, ANY, ANY },
	{ "all there is", DEVICE | SYSCALL | USER | PAGEMAP | MPROTECT | QUERY,
	  "all", SHUT, SHUT, SHUT, SHUT, SHUT, ANY },
	{ "the list of mappings", MAPS, "scan", OPEN, UNUSED, UNUSED, OPEN,
	  OPEN, UNUSED },
	{ "a pipe", PIPE, "scan", OPEN, UNUSED, UNUSED, OPEN, OPEN, UNUSED },
};

#define N_SCENES (sizeof(scenes) / sizeof(scenes[0]))

/* ---- the child ---- */

static const struct scene *scene;
static int refusal; /* a negative errno */

static enum door door_of_path(const char *path)
{
	if (!strcmp(path, "/dev/userfaultfd"))
		return DEVICE;
	if (!strcmp(path, "/proc/self/pagemap"))
		return PAGEMAP;
	return strcmp(path, "/proc/self/maps") ? 0 : MAPS;
}

static enum door door_of_request(unsigned long request)
{
	switch (request) {
	case WT_UFFDIO_API:
		return API;
	case WT_UFFDIO_REGISTER:
		return REGISTER;
	case WT_UFFDIO_WRITEPROTECT:
		return WRITEPROTECT;
	case WT_PAGEMAP_SCAN:
		return SCAN;
	case WT_PROCMAP_QUERY:
		return QUERY;
	}
	return 0;
}

static enum door door_of(enum wt_sys id, const long args[6])
{
	switch (id) {
	case WT_SYS_OPEN:
		return door_of_path((const char *)args[1]);
	case WT_SYS_IOCTL:
		return door_of_request((unsigned long)args[1]);
	case WT_SYS_USERFAULTFD:
		return args[0] & WT_UFFD_USER_MODE_ONLY ? USER : SYSCALL;
	case WT_SYS_MPROTECT:
		return MPROTECT;
	case WT_SYS_PIPE:
		return PIPE;
	default:
		return 0;
	}
}

static bool refuse(enum wt_sys id, const long args[6], long *result)
{
	if (!(door_of(id, args) & scene->refused))
		return false;
	*result = refusal;
	return true;
}

static int wrong(const char *what, long is, long should)
{
	fprintf(stderr, "# %s refused with %d: %s is %ld and not %ld\n",
		scene->name, refusal, what, is, should);
	return 1;
}

static int check_door(const char *what, int is, int should)
{
	if (should == ANY)
		return 0;
	if (should == SHUT)
		should = refusal;
	return is == should ? 0 : wrong(what, is, should);
}

/* Stores are seen on whatever was taken, and the handle is of use. */
static int check_use(struct wtrack *t)
{
	size_t page = page_size();
	char *p = map_pages(8);
	struct wtrack_run run;
	ssize_t n;

	if (wtrack_watch(t, p, 8 * page, 0))
		return wrong("watch", -1, 0);
	touch(p, 3);
	n = wtrack_collect(t, NULL, &run, 1, WTRACK_GET | WTRACK_CLEAR);
	if (n != 1 || run.start > (uintptr_t)p + 3 * page ||
	    run.end < (uintptr_t)p + 4 * page)
		return wrong("collect", n, 1);
	return 0;
}

static int check_scene(void)
{
	struct wtrack_info i = { .size = sizeof(i) };
	struct wtrack *t = NULL;
	int bad = wtrack_open(NULL, &t);

	if (bad || wtrack_info(t, &i))
		return wrong("open", bad, 0);
	if (strcmp(i.backend, scene->backend))
		bad |= wrong(i.backend, 0, 1);
	bad |= check_door("device", i.door_device, scene->device);
	bad |= check_door("syscall", i.door_syscall, scene->syscall);
	bad |= check_door("user", i.door_user, scene->user);
	bad |= check_door("pagemap", i.door_pagemap, scene->pagemap);
	bad |= check_door("selftest", i.door_selftest, scene->selftest);
	bad |= check_door("signal", i.door_signal, scene->signal);
	if ((strcmp(scene->backend, "scan") != 0) != (i.door_selftest < 0))
		bad |= wrong("selftest", i.door_selftest, -1);
	if ((strcmp(scene->backend, "all") == 0) != (i.door_signal < 0))
		bad |= wrong("signal", i.door_signal, -1);
	bad |= check_use(t);
	wtrack_close(t);
	return bad;
}

/* What is better than what was taken is refused by name as well. */
static int check_names(void)
{
	for (int i = 0; strcmp(backend_names[i], scene->backend) != 0; i++) {
		struct wtrack_options o = WTRACK_OPTIONS_INIT;
		struct wtrack *t = NULL;
		int rc;

		/* In no ranking, and it needs other doors. */
		if (!strcmp(backend_names[i], "softdirty"))
			continue;
		o.backend = backend_names[i];
		rc = wtrack_open(&o, &t);
		if (rc != -EOPNOTSUPP || t)
			return wrong(o.backend, rc, -EOPNOTSUPP);
	}
	return 0;
}

static int play(int number, int error)
{
	int bad;

	scene = &scenes[number];
	refusal = -error;
	unsetenv("WTRACK_BACKEND");
	at_the_door(refuse);
	bad = check_scene() | check_names();
	return bad;
}

/* ---- the cases: each scene with each errno ---- */

static const char *lacks_doors(void)
{
	if (access("/dev/userfaultfd", R_OK | W_OK))
		return "/dev/userfaultfd cannot be opened";
	return lacks_scan();
}

static const int errnos[] = { EPERM,  EACCES, ENOSYS, EINVAL,
			      ENOTTY, ENOENT, ENXIO };

static void play_all(unsigned doors, bool exactly)
{
	for (size_t i = 0; i < N_SCENES; i++) {
		bool some = scenes[i].refused & doors;

		if (exactly ? scenes[i].refused != doors : !some)
			continue;
		for (size_t e = 0; e < sizeof(errnos) / sizeof(int); e++) {
			char arg[32];
			int status;

			snprintf(arg, sizeof(arg), "%zu,%d", i, errnos[e]);
			status = run_self(arg);
			assert_true(WIFEXITED(status));
			assert_int_equal(WEXITSTATUS(status), 0);
		}
	}
}

static void an_open_machine_takes_scan_and_tries_no_more(void **state)
{
	(void)state;
	play_all(0, true);
}

static void a_refused_userfaultfd_is_told_door_by_door(void **state)
{
	(void)state;
	play_all(DEVICE | SYSCALL | USER, false);
}

static void refused_features_and_requests_lead_to_mprotect(void **state)
{
	(void)state;
	play_all(API, true);
	play_all(REGISTER, true);
	play_all(WRITEPROTECT, true);
}

static void a_refused_pagemap_leads_to_mprotect(void **state)
{
	(void)state;
	play_all(PAGEMAP, true);
}

static void a_refused_scan_leads_to_wp(void **state)
{
	(void)state;
	play_all(SCAN, true);
	play_all(SCAN | MPROTECT, true);
}

static void where_all_is_refused_everything_is_dirty(void **state)
{
	(void)state;
	play_all(REGISTER | MPROTECT, true);
}

static void what_is_not_needed_may_be_refused(void **state)
{
	(void)state;
	play_all(QUERY, true);
	play_all(MAPS, true);
	play_all(MPROTECT, true);
	play_all(PIPE, true);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		CASE_IF(an_open_machine_takes_scan_and_tries_no_more,
			lacks_doors),
		CASE_IF(a_refused_userfaultfd_is_told_door_by_door,
			lacks_doors),
		CASE_IF(refused_features_and_requests_lead_to_mprotect,
			lacks_doors),
		CASE_IF(a_refused_pagemap_leads_to_mprotect, lacks_doors),
		CASE_IF(a_refused_scan_leads_to_wp, lacks_doors),
		CASE_IF(where_all_is_refused_everything_is_dirty, lacks_doors),
		CASE_IF(what_is_not_needed_may_be_refused, lacks_doors),
	};

	if (argc > 1) {
		char *error;
		long number = strtol(argv[1], &error, 10);

		return play((int)number, atoi(error + 1));
	}
	return RUN_CASES("doors", cases);
}
