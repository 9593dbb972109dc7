/* SPDX-License-Identifier: MIT */
/*
 * inject.c: WTRACK_FAIL=call:errno@n, failures at the kernel entries.
 *
 *	list = item { "," item }
 *	item = call ":" errno [ "@" n [ "+" ] ]
 *
 * `call` is an entry of sys.h, `errno` a name or a number.  Without `@n` each
 * entry fails, with it the n-th only, with `+` all from the n-th on.
 */
#include "inject.h"
#include "sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RULES 16
#define MAX_ERRNO 4095

struct rule {
	enum wt_sys id;
	long result;
	uint64_t first; /* the first entry that fails, from 1 */
	uint64_t last;
	uint64_t seen; /* entries so far; atomic */
};

static struct rule rules[MAX_RULES];
static size_t n_rules;
static wt_sys_hook_fn *next_hook; /* that was there before */

struct word {
	const char *name;
	int value;
};

static const struct word calls[] = {
	{ "open", WT_SYS_OPEN },
	{ "close", WT_SYS_CLOSE },
	{ "fstat", WT_SYS_FSTAT },
	{ "pread", WT_SYS_PREAD },
	{ "ioctl", WT_SYS_IOCTL },
	{ "mmap", WT_SYS_MMAP },
	{ "munmap", WT_SYS_MUNMAP },
	{ "mremap", WT_SYS_MREMAP },
	{ "mprotect", WT_SYS_MPROTECT },
	{ "madvise", WT_SYS_MADVISE },
	{ "msync", WT_SYS_MSYNC },
	{ "userfaultfd", WT_SYS_USERFAULTFD },
	{ "pipe", WT_SYS_PIPE },
	{ "read", WT_SYS_READ },
	{ "write", WT_SYS_WRITE },
	{ "tgsigqueue", WT_SYS_TGSIGQUEUE },
	{ "yield", WT_SYS_YIELD },
	{ "poll", WT_SYS_POLL },
	{ "membarrier", WT_SYS_MEMBARRIER },
};

_Static_assert(sizeof(calls) / sizeof(calls[0]) == WT_SYS_CALLS,
	       "every kernel entry can be made to fail");

#define E(name)             \
	{                   \
#name, name \
	}
/* What these calls are known to fail with; others go by number. */
static const struct word errnos[] = {
	E(EPERM),   E(ENOENT),     E(ESRCH),     E(EINTR),  E(EIO),
	E(ENXIO),   E(E2BIG),      E(EBADF),     E(EAGAIN), E(ENOMEM),
	E(EACCES),  E(EFAULT),     E(EBUSY),     E(EEXIST), E(ENODEV),
	E(ENOTDIR), E(EISDIR),     E(EINVAL),    E(ENFILE), E(EMFILE),
	E(ENOTTY),  E(EFBIG),      E(ENOSPC),    E(ESPIPE), E(EROFS),
	E(EPIPE),   E(ERANGE),     E(ENOSYS),    E(ELOOP),  E(EOVERFLOW),
	E(EILSEQ),  E(EOPNOTSUPP), E(EHWPOISON),
};
#undef E

#define COUNT(words) (sizeof(words) / sizeof((words)[0]))

/* Takes the word of `table` that stands at `*text`, up to any of `ends`. */
static bool take_word(const char **text, const char *ends,
		      const struct word *table, size_t n, int *value)
{
	size_t len = strcspn(*text, ends);

	for (size_t i = 0; i < n; i++) {
		if (strlen(table[i].name) != len ||
		    strncmp(table[i].name, *text, len) != 0)
			continue;
		*value = table[i].value;
		*text += len;
		return true;
	}
	return false;
}

/* Digits only: no sign, no space. */
static bool take_number(const char **text, uint64_t max, uint64_t *value)
{
	const char *p = *text;
	uint64_t n = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		n = 10 * n + (uint64_t)(*p - '0');
		if (n > max)
			return false;
	}
	if (p == *text || !n)
		return false;
	*text = p;
	*value = n;
	return true;
}

static bool take_char(const char **text, char c)
{
	if (**text != c)
		return false;
	++*text;
	return true;
}

static bool take_rule(const char **text, struct rule *r)
{
	uint64_t number;
	int id, error;

	memset(r, 0, sizeof(*r));
	if (!take_word(text, ":", calls, COUNT(calls), &id) ||
	    !take_char(text, ':'))
		return false;
	if (!take_word(text, "@,", errnos, COUNT(errnos), &error)) {
		if (!take_number(text, MAX_ERRNO, &number))
			return false;
		error = (int)number;
	}
	r->id = (enum wt_sys)id;
	r->result = -error;
	r->first = 1;
	r->last = UINT64_MAX;
	if (!take_char(text, '@'))
		return true;
	if (!take_number(text, UINT64_MAX / 16, &r->first))
		return false;
	if (!take_char(text, '+'))
		r->last = r->first;
	return true;
}

/* Every rule counts every entry of its call, whichever rule answers. */
static bool inject(enum wt_sys id, const long args[6], long *result)
{
	bool failed = false;

	if (next_hook && next_hook(id, args, result))
		return true;
	for (size_t i = 0; i < n_rules; i++) {
		struct rule *r = &rules[i];
		uint64_t nth;

		if (r->id != id)
			continue;
		nth = __atomic_add_fetch(&r->seen, 1, __ATOMIC_RELAXED);
		if (failed || nth < r->first || nth > r->last)
			continue;
		*result = r->result;
		failed = true;
	}
	return failed;
}

int wt_inject(const char *text)
{
	size_t n = 0;

	if (wt_sys_hook == inject)
		__atomic_store_n(&wt_sys_hook, next_hook, __ATOMIC_RELEASE);
	if (!*text)
		return 0;
	do {
		if (n == MAX_RULES || !take_rule(&text, &rules[n++]))
			return -EINVAL;
	} while (take_char(&text, ','));
	if (*text)
		return -EINVAL;
	n_rules = n;
	next_hook = wt_sys_hook;
	/* The rules before the hook; pairs with the acquire in sys.c. */
	__atomic_store_n(&wt_sys_hook, inject, __ATOMIC_RELEASE);
	return 0;
}

int wt_inject_init(void)
{
	static bool done;
	static int result;
	const char *text;

	if (done)
		return result;
	/* Nothing from outside may bend a program that has privileges. */
	text = secure_getenv("WTRACK_FAIL");
	result = text ? wt_inject(text) : 0;
	done = true;
	return result;
}
