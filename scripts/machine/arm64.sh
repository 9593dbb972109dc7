# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What a virtual machine of arm64 is.  The caller is vm.sh.
# shellcheck disable=SC2034,SC2154

# shellcheck source=scripts/cross.sh
. "$root/scripts/cross.sh"
machine_packages=("${cross_packages[@]}" busybox-static qemu-system-arm)
machine_qemu=qemu-system-aarch64
# As the processor would sign pointers, an emulator takes its time to.
machine_cpu=max,pauth-impdef=on
machine_console=ttyAMA0
# There is one serial line; the payload has a console of its own.
machine_options=(-M virt -semihosting-config "enable=on,userspace=on,target=native"
	-device virtio-serial-device -device "virtconsole,chardev=payload")
# For tests that take pages of 2 MiB, which are others with pages of 64 KiB.
machine_hugepages='default_hugepagesz=2M hugepages=128'
# The emulator's status where the payload's is $told.
machine_status='told'
# What its programs and libraries come from.
machine_sysroot=$kernel_cache/sysroot-arm64
machine_cc=("$cross_host-gcc" "--sysroot=$machine_sysroot")
machine_strip=$cross_host-strip
