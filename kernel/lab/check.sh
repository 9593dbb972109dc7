# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What can be told of the patches without building a kernel: they apply to
# Debian's current source, are written as the kernel's are, and the results in
# the tree are theirs.  The caller is lab.sh.
# shellcheck disable=SC2034,SC2154

lab_check() {
	local series passed=0 failed=0
	install_packages patch perl
	for series in "$root"/kernel/patches/*/series; do
		[ -f "$series" ] || die "there is no series in kernel/patches"
		lab_series=$(basename "$(dirname "$series")")
		check_series "$series" "$lab_out/check/$lab_series"
	done
	say "$passed passed, $failed failed, 0 skipped"
	[ "$failed" -eq 0 ]
}

# check_series SERIES-FILE DIRECTORY
check_series() {
	local series=$1 dir=$2 patch plan
	find_source
	say "linux-source-$lab_series $source_version"
	# Split into words.
	# shellcheck disable=SC2046
	unpack_some "$dir" $(named_patches "$series") \
		$(find "$lab_dir/patches" -path "*/$lab_series/*.patch")
	for plan in "$lab_dir/plan/$lab_series"-*; do
		check_plan "$series" "$dir" "$plan"
	done
	while read -r patch; do
		check_step "${patch#"$root"/} is in the kernel's style" \
			checkpatch "$dir" "$patch"
	done < <(named_patches "$series")
	check_step "the results are those of series $lab_series" recorded_hash
	check_step "no patch of series $lab_series is forgotten" all_named "$series"
}

# check_plan SERIES-FILE DIRECTORY PLAN: what the plan's kernels are made of applies
# in its order.
check_plan() {
	local dir=$2 name patch
	name=$(basename "$3")
	cp -R "$dir/tree" "$dir/$name"
	while read -r patch; do
		check_step "${patch#"$root"/} applies for $name" \
			apply_patches "$dir/$name" "$patch"
	done < <(
		# shellcheck source=kernel/lab/plan/6.12-x86_64/plan.sh
		. "$3/plan.sh"
		[ ${#plan_patches[@]} -eq 0 ] || printf '%s\n' "${plan_patches[@]}"
		named_patches "$1"
		[ ! -e "$lab_dir/patches/$lab_series/switches.patch" ] ||
			say "$lab_dir/patches/$lab_series/switches.patch"
	)
}

# check_step WHAT COMMAND...
check_step() {
	local what=$1
	shift
	attempt "$@"
	if [ "$status" -eq 0 ]; then
		passed=$((passed + 1))
		say "ok $what"
	else
		failed=$((failed + 1))
		say "FAILED $what"
	fi
}

# unpack_some DIRECTORY PATCH...: the files that the patches change into
# DIRECTORY/tree, and what judges style into DIRECTORY/scripts.
unpack_some() {
	local dir=$1 files name=linux-source-$lab_series
	shift
	rm -rf "$dir"
	mkdir -p "$dir/tree"
	files=$(patched_files "$@")
	# Once a file is found tar looks no further for it.  A file that a patch
	# makes is not found; one that it changes is missed by patch itself.
	# shellcheck disable=SC2046,SC2086
	XZ_DEFAULTS=-T0 tar -xf "$source_tar" -C "$dir/tree" --strip-components=1 \
		--occurrence=1 $(printf "$name/%s " $files scripts/checkpatch.pl \
			scripts/spelling.txt scripts/const_structs.checkpatch) \
		2>"$dir/tar.log" || :
	[ -s "$dir/tree/scripts/checkpatch.pl" ] ||
		die "cannot unpack $source_tar: is the disk full, or the package broken?"
	mv "$dir/tree/scripts" "$dir/scripts"
}

# The sign-off is for who submits it to add.
checkpatch() {
	perl "$1/scripts/checkpatch.pl" --no-tree --strict --quiet --terse \
		--ignore MISSING_SIGN_OFF "$2"
}

recorded_hash() {
	local hash file
	hash=$(series_hash "$lab_series")
	for file in "$root/kernel/results/$lab_series"-*.json; do
		grep -qF "$hash" "$file" || {
			say "$file is not of series $hash: run lab.sh results"
			return 1
		}
	done
}

all_named() {
	local file names
	names=$(named_patches "$1")
	for file in "$(dirname "$1")"/*.patch; do
		grep -qxF "$file" <<<"$names" || {
			say "$file is not in $1"
			return 1
		}
	done
}
