/* SPDX-License-Identifier: MIT */
/*
 * seccomp_scene.h: a process that uses the library under a filter that kills.
 *
 * A scene is played by the program run anew with a string as its argument, so
 * that nothing is open and nothing has been tried.
 */
#ifndef SECCOMP_SCENE_H
#define SECCOMP_SCENE_H

#include "support.h"

/* The quicker ones first. */
enum scene_kind {
	SCENE_FAULT,   /* ends by a fault that is not the library's */
	SCENE_SENT,    /* ends by a signal that somebody sent */
	SCENE_HUGE,    /* hugetlb memory is marked */
	SCENE_USE,     /* every function, and threads that store */
	SCENE_SYSCALL, /* the same, by userfaultfd(2) */
	SCENE_USER,    /* the same, by userfaultfd(2) without privilege */
	SCENE_TEXT,    /* the same, where the kernel has no PROCMAP_QUERY */
	SCENE_READER,  /* an unwatch waits for a reader that takes long */
	SCENE_LOCK,    /* two threads watch at once */
	SCENE_FORK,    /* a child uses what it inherited */
	SCENES
};

struct scene {
	const char *backend; /* NULL: the best */
	bool opened;         /* before the filter is loaded */
	int without;         /* number of the rule that is left out; or -1 */
	enum scene_kind kind;
};

/* NULL, or why the scene cannot be played. */
const char *scene_lacks(const struct scene *s);
/* The signal that must end it, or 0: it ends by itself. */
int scene_signal(const struct scene *s);
/* Plays it in a new process; its wait status. */
int scene_play(const struct scene *s);
/* In that process: plays what main's argument says; does not return. */
void scene_perform(const char *argument);

/* Its two parts, before the filter is loaded and after. */
void scene_prepare(const struct scene *s);
void scene_act(struct wtrack *t);

#endif
