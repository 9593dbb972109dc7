#!/bin/sh
# SPDX-License-Identifier: MIT
# In the virtual machine: the tests of what the kernel does; "ktest=fixed" on
# its command line says that it has the patches.
export PATH=/bin
fixed=
case " $(cat /proc/cmdline) " in
*" ktest=fixed "*) fixed=--fixed ;;
esac
mount -t debugfs debugfs /sys/kernel/debug
echo 256M >/sys/block/zram0/disksize
mkswap /dev/zram0 >/tmp/mkswap
swapon /dev/zram0 || exit 1
echo 32 >/proc/sys/vm/nr_hugepages
uname -r
exec /ktest $fixed
