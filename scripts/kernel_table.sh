#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kernel_table.sh [--record]: which fast paths which kernels have, as a table,
# from runs of this build's wtrack(1): here, on Debian's kernels and on those of
# the kernel lab, in virtual machines.  --record writes it into README.md,
# between its two markers.  make kernel-table calls it in the build directory.
#
# A kernel of the lab that is not built, and any that cannot be had, keeps the
# column that README.md has; without one it is left out.  Either is told.
# A kernel that does not run to its end is an error.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=scripts/vm.sh
. "$(dirname "$0")/vm.sh"

boot_seconds=${WTRACK_BOOT_SECONDS:-240}
lab=${WTRACK_LAB_KERNELS:-$kernel_cache/lab}
readme=$root/README.md
begin='<!-- kernels: written by scripts/kernel_table.sh -->'
end='<!-- kernels: end -->'
out=$PWD/vm/table
columns=() versions=()

main() {
	case ${1:-} in
	'' | --record) ;;
	*)
		say "kernel_table.sh: no option '$1': only --record" >&2
		exit 64
		;;
	esac
	mkdir -p "$out"
	rm -f "$out"/*.cells "$out"/*.json "$out/root.cpio"
	ask_here
	ask_others
	make_table >"$out/table"
	cat "$out/table"
	if [ "${1:-}" = --record ]; then
		record
	fi
}

ask_here() {
	local rc=0 series
	tools/wtrack probe --json >"$out/here.json" || rc=$?
	[ $rc -le 2 ]
	series=$(uname -r | cut -d. -f1,2)
	add_column "$series" "$(uname -r)" "$out/here.json"
}

ask_others() {
	local why series
	why=$(vm_lacks)
	if [ -n "$why" ]; then
		say "no virtual machines: $why" >&2
	else
		"$root/scripts/deps.sh" "${vm_packages[@]}" >&2
		make_root
	fi
	for series in 6.1 6.12; do
		if [ -z "$why" ]; then
			fetch_kernel "$series" >&2 || :
		fi
		ask "Debian $series" "$kernel_cache/$series/vmlinuz" ''
	done
	# Those of other machines would need a wtrack(1) that is built for them.
	ask '6.1 stock' "$(lab_kernel 6.1 stock)" ''
	ask '6.1 patched' "$(lab_kernel 6.1 patched)" ''
	ask '6.12 stock' "$(lab_kernel 6.12 stock)" ''
	ask '6.12 patched' "$(lab_kernel 6.12 patched)" ''
	ask '6.12 patched, sysctls on' "$(lab_kernel 6.12 patched)" \
		'sysctl.vm.uffd_wp_async_huge=1 sysctl.vm.uffd_wp_async_around=16'
}

# lab_kernel SERIES NAME.  The lab writes the stamp last: without it, what is there
# is not finished.
lab_kernel() {
	local dir=$lab/$1/x86_64/$2
	if [ -s "$dir/stamp" ]; then
		say "$dir/vmlinux"
	else
		say "$dir/stamp"
	fi
}

make_root() {
	local dir=$out/root
	new_root "$dir"
	add_program tools/wtrack "$dir/wtrack"
	add_libraries "$dir" "$dir/wtrack"
	if [ -e lib/.libs/libwtrack.so ]; then
		cp -L lib/.libs/libwtrack.so* "$dir/lib/"
	fi
	cp "$root/scripts/guest/probe.sh" "$dir/payload"
	pack_root "$dir"
}

# ask COLUMN KERNEL KERNEL-ARGUMENTS
ask() {
	local column=$1 kernel=$2 log=$out/${1//[ ,]/_}.log
	if [ ! -s "$kernel" ] || [ ! -s "$out/root.cpio" ]; then
		keep_column "$column" "$kernel"
		return
	fi
	# With two processors the emulator now and then executes what a kernel is
	# about to replace in its own code (Oops: int3).
	boot "$boot_seconds" "$kernel" "$out/root.cpio" "$log" \
		"mitigations=off $3" -smp 1 -m 1G -cpu max >&2 || {
		say "kernel_table.sh: $column does not run to its end: see $log" >&2
		exit 1
	}
	add_column "$column" "$(head -n 1 "$log" | tr -d '\r')" "$log"
}

# add_column COLUMN VERSION OUTPUT-OF-PROBE
add_column() {
	local cells=$out/${#columns[@]}.cells
	# One path a line, as probe_json.c writes them.
	sed -n '/"fast_paths": {/,/^  }/ {
		s/^ *"\([a-z-]*\)": {"works": true, .*/\1|yes/p
		s/^ *"\([a-z-]*\)": {"works": false, .*/\1|no/p
		s/^ *"\([a-z-]*\)": {"works": null, "reason": "\(.*\)", "seen".*/\1|*\2*/p
	}' "$3" | sed 's/^\([^|]*|[*]no [^:]*\): .*/\1*/' >"$cells"
	[ -s "$cells" ] || {
		say "kernel_table.sh: $1: no fast paths in $3" >&2
		exit 1
	}
	columns+=("$1")
	versions+=("$1: $2")
}

# keep_column COLUMN KERNEL: as it is in README.md.
keep_column() {
	local cells=$out/${#columns[@]}.cells version
	awk -F ' *[|] *' -v column="$1" -v begin="$begin" -v end="$end" '
		$0 == begin { inside = 1 }
		$0 == end { inside = 0 }
		!inside { next }
		/^[|]/ && !field {
			for (i = 3; i < NF; i++)
				if ($i == column)
					field = i
			if (!field)
				exit
			next
		}
		/^[|] [a-z`]/ {
			gsub(/`/, "", $2)
			print $2 "|" $field
		}' "$readme" >"$cells"
	if [ ! -s "$cells" ]; then
		rm "$cells"
		say "$1: left out, for there is no $2" >&2
		return
	fi
	version=$(sed -n "s/^Versions: \(.*; \)\?\($1: [^;]*\)\(;.*\|[.]\)\$/\2/p" \
		"$readme")
	say "$1: kept as recorded, for there is no $2" >&2
	columns+=("$1")
	versions+=("${version:-$1: as recorded}")
}

make_table() {
	local i name cells=()
	printf '| fast path |'
	printf ' %s |' "${columns[@]}"
	printf '\n|---|'
	printf -- '---|%.0s' "${columns[@]}"
	printf '\n'
	# The rows, and their order, are those of this build's program.
	while IFS='|' read -r name _; do
		cells=()
		for i in "${!columns[@]}"; do
			cells+=("$(sed -n "s/^$name|//p" "$out/$i.cells")")
		done
		printf "| \`%s\` |" "$name"
		printf ' %s |' "${cells[@]}"
		printf '\n'
	done <"$out/0.cells"
	printf '\nVersions: '
	printf '%s\n' "${versions[@]}" | paste -sd '|' | sed 's/|/; /g; s/$/./'
}

# In one step: what is interrupted leaves the old file.
record() {
	if ! grep -qxF -e "$begin" "$readme" || ! grep -qxF -e "$end" "$readme"; then
		say "kernel_table.sh: README.md has no lines '$begin' and '$end'" >&2
		exit 1
	fi
	awk -v table="$out/table" -v begin="$begin" -v end="$end" '
		$0 == end { inside = 0 }
		!inside { print }
		$0 == begin {
			inside = 1
			print ""
			while ((getline line <table) > 0)
				print line
			print ""
		}' "$readme" >"$out/README.md"
	cp "$out/README.md" "$readme.new" && mv "$readme.new" "$readme"
}

main "$@"
