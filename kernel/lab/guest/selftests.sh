#!/bin/sh
# SPDX-License-Identifier: MIT
# In the virtual machine: the kernel's own tests in /list.N, N being the number
# of processors, each for so many seconds at most.  A line of the list is
#   NAME|SYSCTL=VALUE or nothing|COMMAND
# and is left out where the kernel has no such sysctl.
# kernel/lab/selftests.awk judges what this prints.
export PATH=/bin
# shellcheck source=/dev/null
. /settings

mount -t debugfs debugfs /sys/kernel/debug
# Tests that swap out want somewhere to swap to.
echo 256M >/sys/block/zram0/disksize
mkswap /dev/zram0 >/tmp/mkswap
swapon /dev/zram0 || exit 1
echo 128 >/proc/sys/vm/nr_hugepages
mkdir /tmp/huge
mount -t hugetlbfs none /tmp/huge

uname -r
while IFS='|' read -r name setting command; do
	file=/proc/sys/vm/${setting%=*}
	if [ -n "$setting" ]; then
		[ -e "$file" ] || continue
		old=$(cat "$file")
		echo "${setting#*=}" >"$file"
	fi
	echo "TEST $name"
	# Split into words.
	# shellcheck disable=SC2086
	timeout -s KILL "$WTRACK_TEST_SECONDS" $command </dev/null 2>&1
	echo "STATUS $?"
	[ -z "$setting" ] || echo "$old" >"$file"
done <"/list.$(nproc)"
