# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What demo.sh and check.sh share: where things are, bootstrap and configure.
# shellcheck disable=SC2034

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${WTRACK_BUILD:-$root/build}
jobs=$(nproc)
export LC_ALL=C.UTF-8

say() {
	printf '%s\n' "$*"
}

# Regenerates configure when something it is made of is newer.
bootstrap() {
	local inputs
	inputs=$(find "$root/configure.ac" "$root/Makefile.am" \
		"$root"/*/local.mk "$root"/kernel/lab/{,*/}local.mk \
		"$root"/m4/ax_*.m4 "$root/include/wtrack.h" \
		-newer "$root/configure" 2>&1) || :
	if [ -n "$inputs" ]; then
		"$root/bootstrap"
	fi
}

# configure_in DIRECTORY [VARIABLE=VALUE | OPTION]...: out of the source tree.
configure_in() {
	local dir=$1
	shift
	mkdir -p "$dir"
	(cd "$dir" && "$root/configure" "$@")
}
