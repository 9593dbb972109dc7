# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What building for arm64, on a machine of another kind, and booting it needs.  The
# caller is lab.sh.
# shellcheck disable=SC2034,SC2154

arch_packages=(gcc)
arch_cc=aarch64-linux-gnu-gcc
arch_cross=aarch64-linux-gnu-
# What make is asked for, and where it leaves what the emulator boots.
arch_target=Image
arch_image=arch/arm64/boot/Image
arch_cpu=$machine_cpu
# Nothing that an exact boot would have to leave out.
arch_exact=''
