# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The kernel's own tests of memory management, from the same source, on the
# kernel without and with the patches: none may get worse.  The caller is lab.sh.
# shellcheck disable=SC2154

selftest_packages=(libcap-dev libnuma-dev rsync)
selftest_seconds=${WTRACK_TEST_SECONDS:-300}

# NAME|SYSCTL|COMMAND.  With two emulated processors uffd-unit-tests fail now
# and then on any kernel: they and their like run on one.
selftests_1='pagemap_ioctl||/pagemap_ioctl
uffd-unit-tests||/uffd-unit-tests
soft-dirty||/soft-dirty
pagemap_ioctl, huge|uffd_wp_async_huge=1|/pagemap_ioctl
pagemap_ioctl, around|uffd_wp_async_around=16|/pagemap_ioctl'
selftests_2='mseal_test||/mseal_test
uffd-stress anon||/uffd-stress anon 20 4
uffd-stress hugetlb||/uffd-stress hugetlb 20 4
uffd-stress shmem||/uffd-stress shmem 20 4
mkdirty||/mkdirty
mremap_test||/mremap_test
mremap_dontunmap||/mremap_dontunmap
madv_populate||/madv_populate
cow||/cow
mdwe_test||/mdwe_test
droppable||/droppable
memfd_secret||/memfd_secret
seal_elf||/seal_elf
mlock2-tests||/mlock2-tests
map_fixed_noreplace||/map_fixed_noreplace
mrelease_test||/mrelease_test
ksm_functional_tests||/ksm_functional_tests
hugetlb-madvise||/hugetlb-madvise /tmp/huge/madvise
hugepage-mremap||/hugepage-mremap /tmp/huge/mremap
uffd-wp-mremap||/uffd-wp-mremap
userfaultfd anon||/userfaultfd anon 20 4
userfaultfd hugetlb||/userfaultfd hugetlb 20 4
userfaultfd hugetlb_shared||/userfaultfd hugetlb_shared 20 4 /tmp/huge/uffd
userfaultfd shmem||/userfaultfd shmem 20 4'

# lab_selftests [KERNEL...]: beside stock patched, or these.
lab_selftests() {
	local dir=$lab_out/selftests kernel passed=0 failed=0 skipped=0
	[ $# -gt 0 ] || set -- patched
	mkdir -p "$dir"
	lab_build stock "$@"
	build_selftests
	selftest_root "$dir/root"
	for kernel in stock "$@"; do
		run_selftests "$kernel" "$dir"
	done
	for kernel in "$@"; do
		compare_selftests "$dir" "$kernel"
	done
	say
	say "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}

# The programs of a list, each once; those that no source has, or that are not for
# the machine, left out.
selftest_programs() {
	say "$1" | sed 's/.*|\/\([^ ]*\).*/\1/' | sort -u | while read -r name; do
		[[ " $selftests_not " != *" $name "* ]] || continue
		if [ -e "$lab_cache/src/tools/testing/selftests/$selftests_place/$name.c" ] ||
			[[ " $selftests_newer " == *" $name "* ]]; then
			say "$name"
		fi
	done
}

# Static programs in $lab_cache/$lab_arch/selftests, of the source without the patches.
build_selftests() {
	local dir=$lab_cache/$lab_arch/selftests log=$lab_out/build/selftests.log stamp
	local programs own
	programs=$(selftest_programs "$selftests_1"$'\n'"$selftests_2")
	stamp=$({
		cat "$lab_cache/version"
		"$kernel_cc" --version
		say "$programs" "$selftests_newer"
	} | sha256sum)
	if [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ]; then
		say "the kernel's tests: as built before"
		return
	fi
	install_packages "${selftest_packages[@]}"
	rm -rf "$dir"
	mkdir -p "$dir" "$lab_out/build"
	# Not for nothing: what is newer than a kernel's objects is compiled again.
	! grep -qE '^(tools|(arch/[^/]*/)?include/uapi)/' "$lab_cache/touched" || set_tree
	: >"$log"
	kernel_make "$(kernel_dir stock)" "$log" headers
	own=$(say "$programs" | grep -vxF "${selftests_newer// /$'\n'}")
	# Each by its full name: one that nobody here runs does not compile.
	# shellcheck disable=SC2046,SC2086
	clean_make "$log" -C "$lab_cache/src/tools/testing/selftests/$selftests_place" \
		OUTPUT="$dir" ARCH="$lab_arch" CROSS_COMPILE="$arch_cross" EXTRA_CFLAGS=-static \
		CC="$kernel_cc${machine_sysroot:+ --sysroot=$machine_sysroot}" \
		KHDR_INCLUDES="-isystem $(kernel_dir stock)/usr/include" \
		$(printf "$dir/%s " $own) || make_failed "$log"
	[ -z "$selftests_newer" ] || build_newer_selftests "$dir" "$log"
	say "$stamp" >"$dir/stamp"
	say "the kernel's tests: built, $(say "$programs" | wc -l) programs"
}

# build_newer_selftests DIRECTORY LOG: those that only a newer kernel has, with its
# headers of what they test.  MFD_NOEXEC_SEAL came with 6.3, and none of them is
# about it.
build_newer_selftests() {
	local dir=$1 log=$2 from=linux-source-$selftests_from name
	install_packages "$from" xz-utils
	mkdir "$dir/newer"
	XZ_DEFAULTS=-T0 tar -xf "/usr/src/$from.tar.xz" -C "$dir/newer" --strip-components=1 \
		"$from/tools/testing/selftests/mm" "$from/tools/testing/selftests/kselftest.h" \
		"$from"/include/uapi/linux/{fs,userfaultfd}.h ||
		die "cannot unpack $from: is the disk full, or the package broken?"
	for name in $selftests_newer; do
		# There: they make files that are named like their source.
		(
			cd "$dir/newer/tools/testing/selftests/mm" &&
				"$kernel_cc" -static -O2 -w '-D__packed=__attribute__((packed))' \
					-DMFD_NOEXEC_SEAL=0 -I"$dir/newer/include/uapi" \
					-o "$dir/$name" "$name.c" vm_util.c -lpthread -lm
		) >>"$log" 2>&1 || make_failed "$log"
	done
	rm -rf "$dir/newer"
}

selftest_root() {
	local dir=$1 programs
	# Split into words.
	# shellcheck disable=SC2207
	programs=($(selftest_programs "$selftests_1"$'\n'"$selftests_2"))
	new_root "$dir"
	for program in "${programs[@]}"; do
		add_program "$lab_cache/$lab_arch/selftests/$program" "$dir/$program"
	done
	install -m 755 "$lab_dir/guest/selftests.sh" "$dir/payload"
	say "WTRACK_TEST_SECONDS=$selftest_seconds" >"$dir/settings"
	known_tests "$selftests_1" >"$dir/list.1"
	known_tests "$selftests_2" >"$dir/list.2"
	pack_root "$dir"
}

# known_tests LIST: its lines whose program this source has.
known_tests() {
	local line program
	while read -r line; do
		program=${line##*|/}
		[ ! -e "$lab_cache/$lab_arch/selftests/${program%% *}" ] || say "$line"
	done <<<"$1"
}

# run_selftests KERNEL DIRECTORY: makes DIRECTORY/KERNEL.
run_selftests() {
	local kernel=$1 dir=$2 n rc
	: >"$dir/$kernel"
	for n in 1 2; do
		rc=0
		boot_kernel "$kernel" "$dir/root" "$dir/$kernel.$n.log" \
			"mitigations=off" -smp "$n" -m 2G -cpu "$machine_cpu" || rc=$?
		awk -f "$lab_dir/selftests.awk" "$dir/$kernel.$n.log" >>"$dir/$kernel"
		[ $rc -eq 0 ] || say "boot with $n processors|0|1|0" >>"$dir/$kernel"
	done
	splats "$dir/$kernel.1.log.console" >"$dir/$kernel.splats"
	splats "$dir/$kernel.2.log.console" >>"$dir/$kernel.splats"
	if [ -s "$dir/$kernel.splats" ]; then
		say "kernel's complaints|0|$(wc -l <"$dir/$kernel.splats")|0" >>"$dir/$kernel"
	fi
}

# wanted_tests DIRECTORY: what must have run on the patched kernel.
wanted_tests() {
	local name setting patches
	mapfile -t patches < <(kernel_patches patched)
	while IFS='|' read -r name setting _; do
		if [ -z "$setting" ] || grep -q "^+.*${setting%=*}" "${patches[@]}"; then
			say "$name"
		fi
	done < <(cat "$1/root/list.1" "$1/root/list.2")
}

# compare_selftests DIRECTORY KERNEL: the table, and the kernel's cases are added
# to the sum.
compare_selftests() {
	local table=$1/table.$2 p f s
	wanted_tests "$1" >"$1/wanted"
	awk -F '|' -v kernel="$2" -f "$lab_dir/selftests_compare.awk" \
		"$1/wanted" "$1/stock" "$1/$2" >"$table"
	say
	grep '|' "$table" | column -t -s '|'
	read -r _ p f s < <(tail -n 1 "$table")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}
