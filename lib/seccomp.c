/* SPDX-License-Identifier: MIT */
/* seccomp.c: the rows of the table that apply become a filter's rules. */
#include "seccomp_rules.h"
#include "wtrack-seccomp.h"

#include <errno.h>
#include <string.h>

#define WT_API __attribute__((visibility("default")))

unsigned wt_seccomp_backends(const char *name)
{
	unsigned unasked = 0;

	for (size_t i = 0; i < wt_seccomp_n_names; i++) {
		const struct wt_seccomp_name *n = &wt_seccomp_names[i];

		if (name && !strcmp(n->name, name))
			return n->backend;
		unasked |= n->unasked;
	}
	return name ? 0 : unasked;
}

int wt_seccomp_applies(const struct wt_seccomp_rule *rule, unsigned backends,
		       unsigned when)
{
	return (rule->backends & backends) && (rule->when & when);
}

int wt_seccomp_add(void *ctx, const struct wt_seccomp_rule *rule)
{
	struct scmp_arg_cmp args[2];

	memset(args, 0, sizeof(args));
	for (unsigned i = 0; i < rule->n; i++) {
		args[i].arg = rule->condition[i].arg;
		args[i].op = SCMP_CMP_MASKED_EQ;
		args[i].datum_a = rule->condition[i].mask;
		args[i].datum_b = rule->condition[i].value;
	}
	return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, rule->nr, rule->n,
				      args);
}

WT_API int wtrack_seccomp_allow(scmp_filter_ctx ctx, const char *backend,
				unsigned flags)
{
	unsigned backends = wt_seccomp_backends(backend);
	unsigned when = flags & WTRACK_SECCOMP_OPENED ? WT_TO_RUN : WT_TO_OPEN;
	int saved = errno, rc = 0;

	if (!ctx || !backends || (flags & ~WTRACK_SECCOMP_OPENED))
		return -EINVAL;
	for (size_t i = 0; !rc && i < wt_seccomp_n_rules; i++)
		if (wt_seccomp_applies(&wt_seccomp_rules[i], backends, when))
			rc = wt_seccomp_add(ctx, &wt_seccomp_rules[i]);
	errno = saved;
	return rc;
}
