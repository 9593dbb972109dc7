/* SPDX-License-Identifier: MIT */
/* probe.c: wtrack probe, for a person. */
#include "fastpaths.h"
#include "tool.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#define WIDTH 34

static void print_result(const char *label, int result)
{
	if (result < 0)
		printf("  %-*s no   %s\n", WIDTH, label, errno_name(result));
	else
		printf("  %-*s %s\n", WIDTH, label,
		       result ? "not tried" : "yes");
}

static void print_items(const char *title, const struct wtrack_probe *p,
			const struct item *items)
{
	printf("%s\n", title);
	for (; items->key; items++) {
		const char *advice = advice_for(p, items);

		print_result(items->label, item_result(p, items));
		if (advice)
			printf("      %s\n", advice);
	}
}

static void print_caps(uint64_t caps)
{
	for (size_t i = 0; cap_names[i]; i++)
		if (caps & (uint64_t)1 << i)
			printf(" %s", cap_names[i]);
	putchar('\n');
}

static void print_backends(const struct wtrack_probe *p)
{
	printf("backends, the best first\n");
	for (int i = 0; i < WTRACK_PROBE_BACKENDS && p->backends[i].name; i++) {
		const struct wtrack_probe_backend *b = &p->backends[i];

		if (b->result == WTRACK_NOT_TRIED) {
			printf("  %-*s only on request: "
			       "wtrack selftest --backend %s\n",
			       WIDTH, b->name, b->name);
			continue;
		}
		if (b->result) {
			print_result(b->name, b->result);
			continue;
		}
		printf("  %-*s yes ", WIDTH, b->name);
		print_caps(b->caps);
	}
}

static void print_fast_paths(const struct wtrack_probe *p)
{
	printf("fast paths of this kernel\n");
	for (const struct fast_path *f = fast_paths; f->name; f++) {
		struct fast_answer a = fast_path_ask(f, p);

		if (a.works == FAST_UNKNOWN)
			printf("  %-*s unknown: %s\n", WIDTH, f->name, a.told);
		else
			printf("  %-*s %s %s\n", WIDTH, f->name,
			       a.works ? "yes " : "no  ", a.told);
		printf("      %s\n", f->meaning);
	}
}

static void print_open(const struct wtrack_probe *p)
{
	const char *forced = getenv("WTRACK_BACKEND");

	if (p->open) {
		printf("open fails with %s", errno_name(p->open));
		if (forced && *forced)
			printf(": WTRACK_BACKEND names '%s'", forced);
		putchar('\n');
		return;
	}
	printf("open takes %s%s:", p->backend,
	       forced && *forced ? ", which WTRACK_BACKEND names" : "");
	print_caps(p->caps);
	for (size_t i = 0; cap_names[i]; i++)
		if (!(p->caps & (uint64_t)1 << i))
			printf("  not %s: %s\n", cap_names[i], cap_lacks[i]);
}

static bool wants_json(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	bool json = false;
	int c;

	while ((c = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (c != 'j')
			bad_option(c, argv);
		json = true;
	}
	if (optind < argc)
		usage_error("probe takes no argument '%s'", argv[optind]);
	return json;
}

int run_probe(int argc, char **argv)
{
	bool json = wants_json(argc, argv);
	struct wtrack_probe p = { .size = sizeof(p) };
	int rc = wtrack_probe(&p);

	if (rc) {
		const char *fail = getenv("WTRACK_FAIL");

		fprintf(stderr, "wtrack: nothing can be probed: %s%s\n",
			errno_name(rc),
			fail && *fail ? " (see WTRACK_FAIL)" : "");
		return EX_OSERR;
	}
	if (json) {
		probe_json(&p);
		return (int)grade_of(&p);
	}
	print_items("ways into the kernel", &p, items_doors);
	print_items("what the kernel does", &p, items_kernel);
	print_fast_paths(&p);
	print_backends(&p);
	print_open(&p);
	return (int)grade_of(&p);
}
