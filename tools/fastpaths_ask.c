/* SPDX-License-Identifier: MIT */
/* fastpaths_ask.c: asks for one fast path, in a process of its own. */
#include "fastpaths.h"
#include "tool.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* An emulated processor beside a build takes a hundred times as long. */
unsigned fast_path_deadline = 20;

/* Shared with the parent. */
static struct {
	struct fast_answer answer;
	int given;
} * sheet;

/* ---- in the child ---- */

__attribute__((format(printf, 1, 0))) static void write_down(const char *format,
							     va_list args)
{
	vsnprintf(sheet->answer.told, sizeof(sheet->answer.told), format, args);
}

__attribute__((noreturn)) static void hand_in(int works)
{
	sheet->answer.works = works;
	__atomic_store_n(&sheet->given, 1, __ATOMIC_RELEASE);
	_exit(0);
}

void answer(bool works, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_down(format, args);
	va_end(args);
	hand_in(works);
}

void answer_unknown(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_down(format, args);
	va_end(args);
	hand_in(FAST_UNKNOWN);
}

void answer_refused(const char *call, int error)
{
	answer_unknown("%s: %s", call, errno_name(error));
}

/* What goes wrong is to end this process, at once and without a word. */
static void stand_alone(void)
{
	static const int deadly[] = { SIGALRM, SIGBUS, SIGSEGV };
	const struct rlimit no_core = { 0, 0 };
	sigset_t unblock;

	sigemptyset(&unblock);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		signal(deadly[i], SIG_DFL);
		sigaddset(&unblock, deadly[i]);
	}
	sigprocmask(SIG_UNBLOCK, &unblock, NULL);
	setrlimit(RLIMIT_CORE, &no_core);
	alarm(fast_path_deadline);
}

/* ---- in the parent ---- */

static struct fast_answer unknown(const char *format, const char *why)
{
	struct fast_answer a = { .works = FAST_UNKNOWN };

	snprintf(a.told, sizeof(a.told), format, why);
	return a;
}

/* Who ignores SIGCHLD gets no status: then only the sheet tells. */
static int wait_for(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static struct fast_answer result_of(int status)
{
	if (__atomic_load_n(&sheet->given, __ATOMIC_ACQUIRE))
		return sheet->answer;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return unknown("%s", "it took too long");
	if (WIFSIGNALED(status))
		return unknown("ended by %s", strsignal(WTERMSIG(status)));
	return unknown("%s", "ended without an answer");
}

struct fast_answer fast_path_ask(const struct fast_path *path,
				 const struct wtrack_probe *p)
{
	struct fast_answer result;
	pid_t child;

	sheet = mmap(NULL, sizeof(*sheet), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sheet == MAP_FAILED)
		return unknown("mmap: %s", errno_name(-errno));
	/* A sanitizer's _exit() writes, too, what is buffered. */
	fflush(stdout);
	child = fork();
	if (child == 0) {
		stand_alone();
		path->ask(p);
		_exit(0);
	}
	result = child < 0 ? unknown("fork: %s", errno_name(-errno))
			   : result_of(wait_for(child));
	munmap(sheet, sizeof(*sheet));
	return result;
}
