# SPDX-License-Identifier: MIT
# The public headers: the library's, and that of libwtrack-seccomp.
include_HEADERS = %reldir%/wtrack.h
if HAVE_SECCOMP
include_HEADERS += %reldir%/wtrack-seccomp.h
endif
