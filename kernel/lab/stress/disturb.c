/* SPDX-License-Identifier: MIT */
/* disturb.c: what a process may do to its memory while it is tracked. */
#include "stress.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Stores to what is its own; the parent must not see it. */
static _Noreturn void be_child(const struct area *area, struct dice *dice)
{
	size_t size = area->pages * PAGE;

	signal(SIGSEGV, SIG_DFL);
	/* Another thread may have made it read-only just then. */
	if (mprotect(area->start, size, PROT_READ | PROT_WRITE) != 0)
		_exit(1);
	for (int i = 0; i < 100; i++)
		*counter_of(area, roll(dice, area->pages)) = 1;
	_exit(0);
}

void fork_child(struct dice *dice)
{
	struct area *area = some_area(dice);
	int status = 0;
	pid_t child;

	if (area->shared)
		return;
	pthread_rwlock_rdlock(&area->lock);
	child = fork();
	if (child == 0)
		be_child(area, dice);
	pthread_rwlock_unlock(&area->lock);
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		give_up("a child ended with status %x: %s", (unsigned)status,
			strerror(errno));
	done[FORKS]++;
}

void move_some(struct dice *dice)
{
	struct area *area = some_area(dice);

	pthread_rwlock_wrlock(&area->lock);
	move_area(area, dice);
	pthread_rwlock_unlock(&area->lock);
	done[MOVES]++;
}

/* madvise of some part; whether the kernel did it. */
static bool advise(struct area *area, struct dice *dice, int advice)
{
	size_t size;
	char *start;
	int rc;

	pthread_rwlock_rdlock(&area->lock);
	start = some_part(area, dice, &size);
	rc = madvise(start, size, advice);
	pthread_rwlock_unlock(&area->lock);
	return rc == 0;
}

void discard_some(struct dice *dice)
{
	struct area *area = some_area(dice);

	if (area->discardable && advise(area, dice, MADV_DONTNEED))
		done[DISCARDS]++;
	area = some_area(dice);
	/* Taken away later, if at all. */
	if (area->discardable && !area->shared)
		(void)advise(area, dice, MADV_FREE);
}

void page_out_some(struct dice *dice)
{
	long before = counter("/proc/vmstat", "pswpout");

	(void)advise(some_area(dice), dice, ADVICE_PAGEOUT);
	done[PAGES_SWAPPED] +=
		(uint64_t)(counter("/proc/vmstat", "pswpout") - before);
}

/* A whole huge page in it, or NULL. */
static char *some_huge(const struct area *area, struct dice *dice)
{
	uintptr_t first = ((uintptr_t)area->start + HUGE - 1) & ~(HUGE - 1);
	uintptr_t end = (uintptr_t)area->start + area->pages * PAGE;
	size_t n = end > first ? (end - first) / HUGE : 0;

	if (n == 0)
		return NULL;
	return area->start + (first - (uintptr_t)area->start) +
	       roll(dice, n) * HUGE;
}

/* Holes do not collapse. */
static void fill(const struct area *area, const char *start)
{
	size_t first = (size_t)(start - area->start) / PAGE;

	for (size_t i = 0; i < HUGE_PAGES; i++)
		++*counter_of(area, first + i);
}

/* The kernel takes only what is un-armed as a whole: at times nobody arms. */
void collapse_some(struct dice *dice)
{
	struct area *area = &areas[roll(dice, 2)];
	bool alone = roll(dice, 2);
	char *start;

	pthread_rwlock_rdlock(&area->lock);
	if (alone)
		pthread_mutex_lock(&area->scanning);
	start = some_huge(area, dice);
	if (start && uffd_arm(uffd, start, HUGE, false) == 0) {
		fill(area, start);
		if (madvise(start, HUGE, ADVICE_COLLAPSE) == 0)
			done[COLLAPSES]++;
	}
	if (alone)
		pthread_mutex_unlock(&area->scanning);
	pthread_rwlock_unlock(&area->lock);
}

void split_some(struct dice *dice)
{
	struct area *area = &areas[roll(dice, 2)];
	long before = counter("/proc/vmstat", "thp_split_pmd");
	char *start;

	pthread_rwlock_rdlock(&area->lock);
	start = some_huge(area, dice);
	/* One page less protected than its neighbours, or more advised. */
	if (start && roll(dice, 2))
		(void)uffd_arm(uffd, start + 100 * PAGE, PAGE, false);
	else if (start)
		(void)madvise(start + 7 * PAGE, 3 * PAGE, ADVICE_COLD);
	pthread_rwlock_unlock(&area->lock);
	done[SPLITS] +=
		(uint64_t)(counter("/proc/vmstat", "thp_split_pmd") - before);
}

void flip_some(struct dice *dice)
{
	struct area *area = some_area(dice);
	size_t size;
	char *start;

	pthread_rwlock_rdlock(&area->lock);
	start = some_part(area, dice, &size);
	if (mprotect(start, size, PROT_READ) != 0 ||
	    mprotect(start, size, PROT_READ | PROT_WRITE) != 0)
		give_up("mprotect %s: %s", area->name, strerror(errno));
	pthread_rwlock_unlock(&area->lock);
	done[FLIPS]++;
}

static void arm_some(struct dice *dice, bool on)
{
	struct area *area = some_area(dice);
	size_t size;
	char *start;

	pthread_rwlock_rdlock(&area->lock);
	start = some_part(area, dice, &size);
	if (uffd_arm(uffd, start, size, on) != 0 && errno != EAGAIN)
		give_up("arm %s: %s", area->name, strerror(errno));
	pthread_rwlock_unlock(&area->lock);
}

/* More reads written than was, which loses nothing. */
void unarm_some(struct dice *dice)
{
	arm_some(dice, false);
	done[UNARMED]++;
}

void arm_unreported(struct dice *dice)
{
	arm_some(dice, true);
}
