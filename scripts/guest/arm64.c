/* SPDX-License-Identifier: MIT */
/*
 * arm64.c: the end of a machine by semihosting, a call to the emulator, which
 * scripts/machine/arm64.sh allows to programs.
 */
#include "init.h"

#include <stdint.h>

/* The call, and its word for an end that was meant. */
#define SYS_EXIT_EXTENDED   0x20
#define APPLICATION_EXITING 0x20026

const char *const payload_line = "/dev/hvc0";

void end_machine(int status)
{
	const uint64_t block[2] = { APPLICATION_EXITING, (uint64_t)status };
	register uint64_t call __asm__("x0") = SYS_EXIT_EXTENDED;
	register const uint64_t *argument __asm__("x1") = block;

	__asm__ volatile("hlt #0xf000" : "+r"(call) : "r"(argument) : "memory");
}
