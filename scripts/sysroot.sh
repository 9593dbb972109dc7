#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sysroot.sh DIRECTORY PACKAGE...: unpacks packages of another architecture, and
# what they depend on, for a cross compiler's --sysroot.  The architecture is
# arm64, or SYSROOT_ARCH.
#
# Asks the machine's own archives, with a state of its own in DIRECTORY/apt: needs
# no root, and tells dpkg of no second architecture.  A directory that holds what
# was asked for stays as it is.
set -euo pipefail
arch=${SYSROOT_ARCH:-arm64}

main() {
	[ $# -gt 1 ] || die "usage: sysroot.sh DIRECTORY PACKAGE..."
	local asked dir=$1
	shift
	mkdir -p "$dir" || die "cannot write to $dir"
	dir=$(cd "$dir" && pwd)
	asked="$arch $(cksum <"$0") $*"
	[ "$(cat "$dir/stamp" 2>/dev/null)" != "$asked" ] || return 0
	command -v apt-get >/dev/null || die "no apt-get: $* come from Debian's archives"
	# Never what something else has made.
	[ -e "$dir/stamp" ] || [ -e "$dir/apt" ] || rmdir "$dir" 2>/dev/null ||
		die "$dir holds other things: name another directory"
	rm -rf "$dir"
	private_apt "$dir/apt"
	fetch "$dir/apt" "$@"
	unpack "$dir"
	rm -rf "$dir/apt"
	printf '%s\n' "$asked" >"$dir/stamp"
}

die() {
	printf 'sysroot: %s\n' "$*" >&2
	exit 1
}

# private_apt STATE: as if nothing were installed, and no hook of the machine's
# apt to be run.  The configuration is read last, so it may clear.
private_apt() {
	local state=$1
	mkdir -p "$state"/{lists,archives}/partial
	: >"$state/status"
	cat >"$state/conf" <<-END
		#clear APT::Architectures;
		APT::Architecture "$arch";
		APT::Architectures "$arch";
		APT::Sandbox::User "$(id -un)";
		#clear APT::Update::Pre-Invoke;
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		#clear DPkg::Pre-Invoke;
		#clear DPkg::Post-Invoke;
		#clear DPkg::Pre-Install-Pkgs;
		Dir::State "$state";
		Dir::State::status "$state/status";
		Dir::State::lists "$state/lists";
		Dir::Cache "$state";
		Dir::Cache::archives "$state/archives";
	END
}

# fetch STATE PACKAGE...: an archive that has nothing for this architecture does
# not matter, a package that none has does.
fetch() {
	local state=$1
	shift
	{
		apt-get -c "$state/conf" update || :
		apt-get -c "$state/conf" install --download-only --yes \
			--no-install-recommends "$@"
	} >"$state/log" 2>&1 || {
		grep -E '^[EW]:' "$state/log" | tail -n 5 >&2 || :
		die "no $arch packages for $*: is there a network, and Debian's archive in apt's sources?"
	}
}

# unpack DIRECTORY: a link to an absolute place means one in here.
unpack() {
	local dir=$1 package link
	for package in "$dir"/apt/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$package" |
			tar -xf - -C "$dir" --exclude='./usr/share/*' --exclude='./dev/*' ||
			die "cannot unpack $package: is the disk full?"
	done
	while read -r link; do
		ln -sfnr "$dir$(readlink "$link")" "$link"
	done < <(find "$dir" -type l -lname '/*')
}

main "$@"
