/* SPDX-License-Identifier: MIT */
/* shadow_memory.c: what a program does to its memory, and to its shadow. */
#include "shadow.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Those that are written again and again. */
#define HOT_N 12

void op_store(struct model *s)
{
	size_t n, first = shadow_part(s, &n);

	for (size_t i = first; i < first + n; i++) {
		store(&s->m, i);
		shadow_written(&s->page[i]);
	}
}

void op_store_hot(struct model *s)
{
	for (size_t i = s->hot; i < s->hot + HOT_N; i++) {
		store(&s->m, i);
		shadow_written(&s->page[i]);
	}
}

/* By a few pages, or to anywhere. */
void op_move_hot(struct model *s)
{
	size_t to = roll(&s->dice, 2) ? s->hot + 1 + roll(&s->dice, 5)
				      : roll(&s->dice, PAGES_N);

	s->hot = to % (PAGES_N - HOT_N);
}

void op_load(struct model *s)
{
	size_t n, first = shadow_part(s, &n);

	for (size_t i = first; i < first + n; i++) {
		(void)*(volatile char *)page_of(&s->m, i);
		s->page[i].gone = false;
	}
}

void op_kernel_write(struct model *s)
{
	char *at = page_of(&s->m, roll(&s->dice, PAGES_N));
	size_t i = (size_t)(at - s->m.base) / s->m.page;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "k", 1), 1);
	assert_int_equal(wtrack_prepare_write(s->t, at, 1), 0);
	assert_int_equal(read(fds[0], at, 1), 1);
	close(fds[0]);
	close(fds[1]);
	shadow_written(&s->page[i]);
}

/*
 * Where memory that was never populated is not armed, what goes back to that is
 * as it was when it was watched or cleared.
 */
static void discarded(const struct model *s, struct shadow *p)
{
	bool anon = s->kind == MEM_ANON || s->kind == MEM_THP;

	p->maybe = p->gone = true;
	p->zero = anon;
	if (anon && (s->caps & WTRACK_CAP_DISCARD))
		p->written = !(p->lazy && p->was_zero);
	/* [K-soft-discard] The store is gone with what it stored. */
	if (runs_on("softdirty"))
		p->written = false;
}

void op_discard(struct model *s)
{
	size_t n, first = shadow_part(s, &n);

	assert_int_equal(
		madvise(page_of(&s->m, first), n * s->m.page, MADV_DONTNEED),
		0);
	for (size_t i = first; i < first + n; i++)
		discarded(s, &s->page[i]);
}

/* There and back.  With mprotect that undoes the tracking: it must be seen. */
void op_protect(struct model *s)
{
	size_t n, first = shadow_part(s, &n);
	char *at = page_of(&s->m, first);

	assert_int_equal(mprotect(at, n * s->m.page, PROT_READ), 0);
	assert_int_equal(mprotect(at, n * s->m.page, PROT_READ | PROT_WRITE),
			 0);
	for (size_t i = first; i < first + n; i++)
		s->page[i].maybe |= !(s->caps & WTRACK_CAP_PROTECT);
}

void op_huge(struct model *s)
{
	size_t n, first = shadow_part(s, &n);

	madvise(page_of(&s->m, first), n * s->m.page,
		roll(&s->dice, 2) ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

void op_replace(struct model *s)
{
	size_t i = roll(&s->dice, PAGES_N);
	char *at = page_of(&s->m, i);
	bool gap = roll(&s->dice, 2);

	/* A rare event, or all would be lost soon; rather of hot pages. */
	if (roll(&s->dice, 8))
		return;
	if (roll(&s->dice, 2))
		at = page_of(&s->m, i = s->hot);
	if (gap)
		assert_int_equal(munmap(at, s->m.page), 0);
	assert_ptr_equal(mmap(at, s->m.page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 at);
	s->page[i].lost = s->page[i].watched;
	s->lossy |= s->page[i].lost;
	s->page[i].unsure |= s->page[i].initial;
	s->page[i].written = s->page[i].initial = false;
	s->page[i].maybe = true;
	s->page[i].zero = s->page[i].gone = true;
}

/* ---- fork ---- */

/* All watched is dirty once; then the child tracks by itself. [G7] */
static void in_child(struct model *s)
{
	for (size_t i = 0; i < PAGES_N; i++) {
		s->page[i].initial = s->page[i].watched;
		s->page[i].kept &= !s->page[i].lost;
		/* What is mapped is registered anew. */
		s->page[i].lost = false;
		/* And what is shared is mapped when it is touched. */
		s->page[i].gone = true;
	}
	s->last = "fork";
	op_collect_all(s);
	op_store(s);
	op_collect_all(s);
	op_epochs(s);
}

void op_fork(struct model *s)
{
	int status = -1;
	pid_t child;

	if (roll(&s->dice, 8))
		return;
	child = fork();
	if (!child) {
		in_child(s);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
