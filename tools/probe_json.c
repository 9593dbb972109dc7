/* SPDX-License-Identifier: MIT */
/*
 * probe_json.c: wtrack probe --json, for a program.
 *
 * Names are only ever added to what is printed here.
 */
#include "fastpaths.h"
#include "tool.h"

#include <stdio.h>

static void string(const char *s)
{
	if (!s) {
		printf("null");
		return;
	}
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		if ((unsigned char)*s >= ' ')
			putchar(*s);
	}
	putchar('"');
}

/* "works" is null where nothing was tried. */
static void result(int rc)
{
	printf("\"works\": %s, \"error\": ", rc == WTRACK_NOT_TRIED ? "null"
					     : rc                   ? "false"
								    : "true");
	string(rc < 0 ? errno_name(rc) : NULL);
}

static void items(const char *name, const struct wtrack_probe *p,
		  const struct item *item)
{
	const char *comma = "";

	printf("  \"%s\": {\n", name);
	for (; item->key; item++) {
		printf("%s    \"%s\": {", comma, item->key);
		result(item_result(p, item));
		printf(", \"advice\": ");
		string(advice_for(p, item));
		putchar('}');
		comma = ",\n";
	}
	printf("\n  },\n");
}

/* "works" is null where it is not known; then there is a reason. */
static void paths(const struct wtrack_probe *p)
{
	const char *comma = "";

	printf("  \"fast_paths\": {\n");
	for (const struct fast_path *f = fast_paths; f->name; f++) {
		struct fast_answer a = fast_path_ask(f, p);
		bool known = a.works != FAST_UNKNOWN;

		printf("%s    \"%s\": {\"works\": %s, \"reason\": ", comma,
		       f->name,
		       !known    ? "null"
		       : a.works ? "true"
				 : "false");
		string(known ? NULL : a.told);
		printf(", \"seen\": ");
		string(known ? a.told : NULL);
		putchar('}');
		comma = ",\n";
	}
	printf("\n  },\n");
}

static void caps_of(uint64_t caps)
{
	const char *comma = "";

	putchar('[');
	for (size_t i = 0; cap_names[i]; i++) {
		if (!(caps & (uint64_t)1 << i))
			continue;
		printf("%s", comma);
		string(cap_names[i]);
		comma = ", ";
	}
	putchar(']');
}

static void backends(const struct wtrack_probe *p)
{
	const char *comma = "";

	printf("  \"backends\": [\n");
	for (int i = 0; i < WTRACK_PROBE_BACKENDS && p->backends[i].name; i++) {
		const struct wtrack_probe_backend *b = &p->backends[i];

		printf("%s    {\"name\": ", comma);
		string(b->name);
		printf(", ");
		result(b->result);
		printf(", \"capabilities\": ");
		caps_of(b->caps);
		putchar('}');
		comma = ",\n";
	}
	printf("\n  ],\n");
}

void probe_json(const struct wtrack_probe *p)
{
	static const char *const grades[] = { "full", "fallback", "nothing" };

	printf("{\n  \"version\": \"%d.%d.%d\",\n", WTRACK_VERSION_MAJOR,
	       WTRACK_VERSION_MINOR, WTRACK_VERSION_PATCH);
	items("doors", p, items_doors);
	items("kernel", p, items_kernel);
	paths(p);
	backends(p);
	printf("  \"open\": {\"backend\": ");
	string(p->backend);
	printf(", \"error\": ");
	string(p->open ? errno_name(p->open) : NULL);
	printf(", \"capabilities\": ");
	caps_of(p->open ? 0 : p->caps);
	printf("},\n  \"tracking\": ");
	string(grades[grade_of(p)]);
	printf("\n}\n");
}
