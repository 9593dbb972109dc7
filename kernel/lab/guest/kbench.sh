#!/bin/sh
# SPDX-License-Identifier: MIT
# In the virtual machine: the benchmark of the kernel, with the options and cases
# of a word on the kernel's command line, kbench.run=WORD,WORD...
export PATH=/bin
huge=/sys/kernel/mm/transparent_hugepage
# Who makes huge pages in the background would do so in the middle of a case.
if [ -e $huge/khugepaged/scan_sleep_millisecs ]; then
	echo 4000000000 >$huge/khugepaged/scan_sleep_millisecs
fi
# Until the kernel is done with what it does after booting; where time counts
# instructions, sleeping takes none.
sleep "$(sed -n 's/.*kbench[.]sleep=\([0-9]*\).*/\1/p' /proc/cmdline)"
run=$(sed -n 's/.*kbench[.]run=\([^ ]*\).*/\1/p' /proc/cmdline | tr ',' ' ')
# Patterns are for kbench to match.
set -f
# shellcheck disable=SC2086
exec /kbench $run
