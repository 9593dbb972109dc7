#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The main job on real input, in one command on a fresh Debian 12: installs
# packages, builds, then edits some lines of a real text with each backend.
#
# The text is /usr/share/dict/american-english-insane of the Debian package
# wamerican-insane: 6.9 MB, one word a line.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

text=/usr/share/dict/american-english-insane
backends=(scan async wp monitor softdirty mprotect all)

main() {
	"$root/scripts/deps.sh" wamerican-insane
	mkdir -p "$build/demo"
	say "Building in $build/demo (log: build.log) ..."
	if ! make_quickstart >"$build/demo/build.log" 2>&1; then
		tail -n 40 "$build/demo/build.log"
		say "The build failed."
		return 1
	fi
	run_all
}

make_quickstart() {
	bootstrap && cd "$build/demo" &&
		"$root/configure" --disable-static &&
		make -j"$jobs" examples/quickstart
}

run_all() {
	local rows='' failed=0 backend
	for backend in "${backends[@]}"; do
		run_one "$backend" || failed=1
	done
	say
	say "$text, $(stat -c %s "$text") bytes, Linux $(uname -r):"
	{
		say 'backend|pages written|pages reported|per first write|to collect'
		printf '%s' "$rows"
	} | column_table
	return $failed
}

# Runs one backend and appends its row to `rows`.
run_one() {
	local backend=$1 log=$build/demo/$1.log line
	if WTRACK_BACKEND=$backend "$build/demo/examples/quickstart" "$text" \
		>"$log" 2>&1 && line=$(grep "^backend=$backend " "$log"); then
		rows+=$(row "$line")$'\n'
	elif is_unavailable "$log" && ! is_required "$backend"; then
		rows+="$backend|not here, or not for files"$'\n'
	else
		tail -n 20 "$log"
		rows+="$backend|FAILED (see above)"$'\n'
		return 1
	fi
}

is_unavailable() {
	grep -q 'open: Operation not supported' "$1"
}

is_required() {
	case " ${WTRACK_REQUIRE_BACKENDS:-} " in
	*" $1 "*) ;;
	*) return 1 ;;
	esac
}

# Turns quickstart's summary line into a row of the table.
row() {
	local word backend='' written='' reported='' first='' collect=''
	for word in $1; do
		case $word in
		backend=*) backend=${word#*=} ;;
		written=*) written=${word#*=} ;;
		reported=*) reported=${word#*=} ;;
		first_write_ns=*) first=${word#*=} ;;
		collect_us=*) collect=${word#*=} ;;
		esac
	done
	say "$backend|$written|$reported|$first ns|$collect us"
}

column_table() {
	awk -F '|' '
		NF == 5 { printf "%-9s %13s %15s %16s %13s\n", $1, $2, $3, $4, $5 }
		NF == 2 { printf "%-9s %s\n", $1, $2 }'
}

main
