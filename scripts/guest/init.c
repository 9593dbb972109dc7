/* SPDX-License-Identifier: MIT */
/*
 * init.c: the first process of a virtual machine.
 *
 * Runs /payload with a line of its own as its output, so that no message of the
 * kernel gets between its lines; another one is the console.  Then it says the
 * exit status twice, by a last line and by what ends the emulator: a panic or a
 * power-off also ends it, and only agreement counts.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int failed(const char *what)
{
	printf("init: %s: %s\n", what, strerror(errno));
	return STATUS_MAX;
}

static int mount_on(const char *type, const char *dir)
{
	mkdir(dir, 0755);
	return mount(type, dir, type, 0, NULL);
}

static int take_payload_line(void)
{
	struct termios line;
	int fd = open(payload_line, O_RDWR | O_NOCTTY);

	if (fd < 0 || tcgetattr(fd, &line) != 0)
		return -1;
	cfmakeraw(&line);
	if (tcsetattr(fd, TCSANOW, &line) != 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(fd, i) != i)
			return -1;
	return 0;
}

static int set_up(void)
{
	if (mount_on("devtmpfs", "/dev") != 0 || take_payload_line() != 0)
		return failed("/dev");
	if (mount_on("proc", "/proc") != 0 || mount_on("sysfs", "/sys") != 0)
		return failed("/proc and /sys");
	if (mount_on("tmpfs", "/tmp") != 0 ||
	    mount_on("tmpfs", "/dev/shm") != 0)
		return failed("tmpfs");
	return 0;
}

static int run_payload(void)
{
	int status = 0;
	pid_t child = fork(), ended;

	if (child == 0) {
		setsid();
		execl("/payload", "/payload", (char *)NULL);
		_exit(failed("/payload"));
	}
	/* Orphans are this process's children, too. */
	do {
		ended = wait(&status);
	} while (ended != child && (ended > 0 || errno == EINTR));
	if (ended != child)
		return failed("wait");
	if (WIFSIGNALED(status)) {
		printf("init: /payload: %s\n", strsignal(WTERMSIG(status)));
		return STATUS_MAX;
	}
	return WEXITSTATUS(status) < STATUS_MAX ? WEXITSTATUS(status)
						: STATUS_MAX;
}

int main(void)
{
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	status = set_up();
	if (status == 0)
		status = run_payload();
	printf("EXIT %d\n", status);
	tcdrain(STDOUT_FILENO);
	end_machine(status);
	reboot(RB_POWER_OFF);
	return 1;
}
