#!/bin/sh
# SPDX-License-Identifier: MIT
# In the virtual machine: first a loss made on purpose, which must be found,
# then the search for real ones.  "stress=SECONDS,SEED" is on the kernel's
# command line.
export PATH=/bin
settings=$(sed -n 's/.*\<stress=\([0-9]*\),\([0-9]*\).*/\1 \2/p' /proc/cmdline)
echo 256M >/sys/block/zram0/disksize
mkswap /dev/zram0 >/tmp/mkswap
swapon /dev/zram0 || exit 1
uname -r
# A kernel without a switch would only say so on its console.
for name in uffd_wp_async_huge uffd_wp_async_around; do
	if grep -q "sysctl.vm.$name=" /proc/cmdline; then
		grep -H . "/proc/sys/vm/$name" || exit 1
	fi
done
/stress --break --seconds 60 >/tmp/broken 2>&1
echo "BROKEN $?"
grep -m 1 LOST /tmp/broken || exit 1
exec /stress --seconds "${settings% *}" --seed "${settings#* }"
