# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What building for x86_64 and booting it needs.  The caller is lab.sh.
# shellcheck disable=SC2034

arch_packages=(gcc)
arch_cc=gcc
arch_cross=''
# What make is asked for, and where it leaves what the emulator boots.
arch_target=vmlinux
arch_image=vmlinux
# Without what the emulator would count an instruction for, whatever its length.
arch_cpu=max,-erms,-fsrm
# Otherwise the calibration of a timer fails and takes its time to.
arch_exact=nolapic_timer
