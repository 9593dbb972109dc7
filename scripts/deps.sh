#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages that building needs, and those named besides.
# What is installed already asks nothing of the network or of sudo.
set -euo pipefail

packages=(autoconf automake gcc libc6-dev libtool liburcu-dev make pkg-config
	"$@")
missing=()
for package in "${packages[@]}"; do
	# The format is dpkg-query's, not the shell's.
	# shellcheck disable=SC2016
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" \
		2>/dev/null) || :
	[ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	as_root=(sudo)
fi
printf 'Installing: %s\n' "${missing[*]}"
"${as_root[@]}" apt-get update -qq
# sudo drops the environment: the setting goes through env.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
	-o Dpkg::Use-Pty=0 \
	--no-install-recommends "${missing[@]}" >/dev/null
