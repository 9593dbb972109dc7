/* SPDX-License-Identifier: MIT */
/* selftest.c: wtrack selftest: opens a backend, stresses it, tells the result.
 */
#include "tool.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	const char *backend; /* NULL: the best */
	long seconds;
};

static int report(const char *backend, const struct outcome *o, int error)
{
	bool bad = o->lost || o->invented;

	printf("%s: %llu stores, %llu collections, %llu pages lost, "
	       "%llu pages wrong: %s\n",
	       backend, (unsigned long long)o->stores,
	       (unsigned long long)o->collections, (unsigned long long)o->lost,
	       (unsigned long long)o->invented,
	       error ? errno_name(error)
	       : bad ? "FAILED"
		     : "ok");
	return error || bad;
}

static int run(struct wtrack *t, long seconds)
{
	struct wtrack_info info = { .size = sizeof(info) };
	struct outcome outcome = { 0 };
	int rc = wtrack_info(t, &info);

	if (!rc)
		rc = stress(t, seconds, &outcome);
	rc = report(info.backend ? info.backend : "?", &outcome, rc);
	wtrack_close(t);
	return rc;
}

/* Why it was not opened: by the probe, which tells each backend's reason. */
static int not_opened(const char *backend, int rc)
{
	struct wtrack_probe p = { .size = sizeof(p) };
	bool known = false;

	if (!wtrack_probe(&p))
		for (int i = 0; i < WTRACK_PROBE_BACKENDS && p.backends[i].name;
		     i++) {
			if (!backend || strcmp(p.backends[i].name, backend))
				continue;
			known = true;
			if (p.backends[i].result < 0)
				rc = p.backends[i].result;
		}
	if (backend && !known && rc == -EINVAL)
		usage_error("no backend '%s'", backend);
	printf("%s: does not work here: %s\n", backend ? backend : "open",
	       errno_name(rc));
	return 2;
}

static struct request read_request(int argc, char **argv)
{
	static const struct option options[] = {
		{ "backend", required_argument, NULL, 'b' },
		{ "seconds", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	struct request r = { NULL, 1 };
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c == 'b') {
			r.backend = optarg;
		} else if (c == 's') {
			r.seconds = strtol(optarg, &end, 10);
			if (end == optarg || *end || r.seconds < 1 ||
			    r.seconds > 3600)
				usage_error("--seconds wants a number from 1 "
					    "to 3600, not '%s'",
					    optarg);
		} else {
			bad_option(c, argv);
		}
	}
	if (optind < argc)
		usage_error("selftest takes no argument '%s'", argv[optind]);
	return r;
}

int run_selftest(int argc, char **argv)
{
	struct request r = read_request(argc, argv);
	struct wtrack_options o = WTRACK_OPTIONS_INIT;
	struct wtrack *t;
	int rc;

	o.backend = r.backend;
	/* What is said on the command line goes before what is around it. */
	if (r.backend)
		unsetenv("WTRACK_BACKEND");
	rc = wtrack_open(&o, &t);
	if (rc)
		return not_opened(r.backend, rc);
	return run(t, r.seconds);
}
