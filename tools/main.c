/* SPDX-License-Identifier: MIT */
/* main.c: wtrack(1): which command, and what to say when there is none. */
#include "tool.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static const char help[] =
	"Usage: wtrack probe [--json]\n"
	"       wtrack selftest [--backend NAME] [--seconds N]\n"
	"       wtrack --help | --version\n"
	"\n"
	"probe     tells what this machine and this process can do to track\n"
	"          writes to memory, and what to do about the rest\n"
	"  --json             for programs\n"
	"selftest  lets threads write while pages are collected, and looks\n"
	"          whether a write was lost\n"
	"  --backend NAME     instead of the best that works\n"
	"  --seconds N        from 1 to 3600; 1\n"
	"\n"
	"probe exits with 0 if writes are tracked in full, 1 if by a fallback\n"
	"that can do less, 2 if not at all; selftest with 0 if nothing was\n"
	"lost, 1 if something was, 2 if the backend does not work here.\n"
	"See wtrack(1).\n";

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "probe", run_probe },
	{ "selftest", run_selftest },
};

void usage_error(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "wtrack: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " (try 'wtrack --help')\n");
	exit(EX_USAGE);
}

void bad_option(int c, char **argv)
{
	/* A long option leaves optopt 0 if it is unknown. */
	if (c == ':')
		usage_error("%s wants a value", argv[optind - 1]);
	if (optopt && !strncmp(argv[optind - 1], "--", 2))
		usage_error("%s wants no value", argv[optind - 1]);
	if (optopt)
		usage_error("no option -%c", optopt);
	usage_error("no option %s", argv[optind - 1]);
}

/* What was printed counts only once it is written. */
static int finish(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "wtrack: cannot write: %m\n");
		return EX_IOERR;
	}
	return status;
}

static int version(void)
{
	printf("wtrack %d.%d.%d\n", WTRACK_VERSION_MAJOR, WTRACK_VERSION_MINOR,
	       WTRACK_VERSION_PATCH);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	opterr = 0;
	/* +: what follows the command is the command's. */
	c = getopt_long(argc, argv, "+:hV", options, NULL);
	if (c == 'h')
		return finish(fputs(help, stdout) < 0);
	if (c == 'V')
		return finish(version());
	if (c != -1)
		bad_option(c, argv);
	if (optind == argc)
		usage_error("which command?");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, argv[optind]) != 0)
			continue;
		argc -= optind;
		argv += optind;
		optind = 0; /* getopt_long() starts again */
		return finish(commands[i].run(argc, argv));
	}
	usage_error("no command '%s'", argv[optind]);
}
