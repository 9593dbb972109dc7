/* SPDX-License-Identifier: MIT */
/*
 * init.h: what machines differ in, for init.c; MACHINE.c has it.
 */
#ifndef INIT_H
#define INIT_H

/* What the emulator's status can tell of the payload's. */
#define STATUS_MAX 127

/* Where the payload's lines go. */
extern const char *const payload_line;

/* Ends the emulation, with the status, or returns. */
void end_machine(int status);

#endif
