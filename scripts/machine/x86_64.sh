# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What a virtual machine of x86_64 is.  The caller is vm.sh.
# shellcheck disable=SC2034

machine_packages=(busybox-static qemu-system-x86)
machine_qemu=qemu-system-x86_64
machine_cpu=max
machine_console=ttyS0
# The second serial line is the payload's.
machine_options=(-device "isa-debug-exit,iobase=0xf4,iosize=4" -serial chardev:payload)
# For tests that take pages of 2 MiB.
machine_hugepages='hugepages=128'
# The emulator's status where the payload's is $told.
machine_status='2 * told + 1'
# What its programs and libraries come from: this machine.
machine_sysroot=''
read -r -a machine_cc <<<"${CC:-cc}"
machine_strip="strip"
