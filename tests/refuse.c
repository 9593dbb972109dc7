/* SPDX-License-Identifier: MIT */
/*
 * refuse.c: runs a program to which the kernel refuses system calls.
 *
 *	refuse [--nobody] [CALL[=REQUEST]:ERRNO]... PROGRAM [ARGUMENT]...
 *
 * As in a container: by a seccomp filter, as a user without privileges. REQUEST
 * is that of an ioctl, ERRNO a number.  Exits with 77 if it cannot.
 */
#include <err.h>
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534
#define SKIP   77

static const struct {
	const char *name;
	unsigned nr;
} calls[] = {
	{ "userfaultfd", SYS_userfaultfd },
	{ "ioctl", SYS_ioctl },
	{ "mprotect", SYS_mprotect },
	{ "pipe", SYS_pipe2 },
	{ "clone", SYS_clone },
};

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		err(SKIP, "cannot become nobody");
}

static void install(unsigned nr, unsigned request, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | (request ? BPF_JEQ : BPF_JGE) | BPF_K,
			 request, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		err(SKIP, "cannot install a filter");
}

/* Whether the argument was one of CALL[=REQUEST]:ERRNO. */
static int refuse(char *arg)
{
	char *error = strchr(arg, ':');
	char *request = strchr(arg, '=');

	if (!error)
		return 0;
	*error++ = '\0';
	if (request)
		*request++ = '\0';
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, arg) != 0)
			continue;
		install(calls[i].nr,
			request ? (unsigned)strtoul(request, NULL, 0) : 0,
			(unsigned)strtoul(error, NULL, 10));
		return 1;
	}
	errx(1, "no call %s", arg);
}

int main(int argc, char **argv)
{
	int i = 1;

	if (argc > i && !strcmp(argv[i], "--nobody")) {
		become_nobody();
		i++;
	}
	while (i < argc && refuse(argv[i]))
		i++;
	if (i == argc)
		errx(1, "no program to run");
	execv(argv[i], argv + i);
	err(1, "%s", argv[i]);
}
