/* SPDX-License-Identifier: MIT */
/* Uses all of wtrack-seccomp.h, in the modes of abi_header.c. */
#include <wtrack-seccomp.h>

int abi_header_seccomp(scmp_filter_ctx filter);

int abi_header_seccomp(scmp_filter_ctx filter)
{
	return wtrack_seccomp_allow(filter, "all", WTRACK_SECCOMP_OPENED);
}
