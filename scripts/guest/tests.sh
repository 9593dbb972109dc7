#!/bin/sh
# SPDX-License-Identifier: MIT
# In the virtual machine: says which backends work, then runs every test, each
# for so many seconds at most and one on each processor, as make -j does.
# scripts/kernels.sh judges what this prints.
export PATH=/bin
# Where unit_nomalloc_dlopen finds /lib/.libs.
export top_builddir=
export CMOCKA_MESSAGE_OUTPUT=TAP
# shellcheck source=/dev/null
. /settings

if [ $# -gt 0 ]; then
	name=${1##*/}
	timeout -s KILL "$WTRACK_TEST_SECONDS" "$1" >"/tmp/$name.out" 2>&1
	status=$?
	# One test's lines stay together.
	until mkdir /tmp/lock 2>/tmp/locked; do usleep 10000; done
	echo "TEST $name"
	cat "/tmp/$name.out"
	echo "STATUS $status $(cut -d ' ' -f 1 /proc/uptime)"
	rmdir /tmp/lock
	exit 0
fi

uname -r
# Tests talk over the loopback.
ip link set lo up
/consumer >/tmp/consumer 2>&1
consumer=$?
cat /tmp/consumer
echo "CONSUMER $consumer"
# What opens once must open in every test.
WTRACK_REQUIRE_BACKENDS=$(sed -n 's/^backend //p' /tmp/consumer | tr '\n' ' ')
export WTRACK_REQUIRE_BACKENDS
printf '%s\n' /tests/* | xargs -n 1 -P "$(nproc)" "$0"
