# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Builds the project for another architecture, with Debian's cross compiler and
# packages of that architecture.  The caller has sourced lib.sh.
# shellcheck disable=SC2034,SC2154

cross_host=aarch64-linux-gnu
# For deps.sh, and for sysroot.sh.
cross_packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
sysroot_packages=(busybox-static libc6-dev libcap-dev libcmocka-dev libnuma-dev
	libseccomp-dev liburcu-dev linux-libc-dev)

# cross_sysroot DIRECTORY: makes it, if it is not there.
cross_sysroot() {
	"$root/scripts/sysroot.sh" "$1" "${sysroot_packages[@]}"
}

# cross_build SYSROOT DIRECTORY TARGET...: configures what was never configured
# there with this, and makes the targets.
cross_build() {
	local sysroot=$1 dir=$2
	shift 2
	bootstrap
	if [ "$(cat "$dir/configured" 2>/dev/null)" != "$cross_host $sysroot" ]; then
		rm -rf "$dir"
		cross_configure "$sysroot" "$dir"
		say "$cross_host $sysroot" >"$dir/configured"
	fi
	make -C "$dir" -j"$jobs" "$@"
}

cross_configure() {
	local sysroot=$1 libraries=usr/lib/$cross_host
	# Of the target only: what is installed here is for another machine.
	PKG_CONFIG_SYSROOT_DIR=$sysroot \
		PKG_CONFIG_LIBDIR=$sysroot/$libraries/pkgconfig \
		configure_in "$2" --host="$cross_host" --enable-werror \
		CC="$cross_host-gcc --sysroot=$sysroot"
}
