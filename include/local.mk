# SPDX-License-Identifier: MIT
# The one public header.
include_HEADERS = %reldir%/wtrack.h
