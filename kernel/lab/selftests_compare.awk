# SPDX-License-Identifier: MIT
# selftests_compare.awk WANTED STOCK PATCHED: a table of both kernels, the second
# of which is named in "kernel"; its last column says what is wrong.  Then the sum
# of that kernel's cases: what fails on both is not the patches' doing and does
# not count.
FNR == 1 { file++ }
file == 1 {
	wanted[$1] = 1
	seen($1)
}
file == 2 {
	stock[$1] = $2 "/" $3 "/" $4
	pass[$1] = $2
	fail[$1] = $3
	seen($1)
}
file == 3 {
	patched[$1] = $2 "/" $3 "/" $4
	pass_now[$1] = $2
	fail_now[$1] = $3
	passed += $2
	skipped += $4
	seen($1)
}
function seen(name) {
	if (!(name in known)) {
		known[name] = 1
		order[++n] = name
	}
}
function verdict(name) {
	if (!(name in patched))
		return name in wanted ? "FAILED: did not run" : "ok"
	if (name ~ /^boot |complaints$/)
		return fail_now[name] ? "FAILED" : "ok"
	# The test demands exact sets, which this switch gives up.
	if (name ~ /, around$/)
		return fail_now[name] ? "ok, must fail" : "FAILED: must fail"
	if (name ~ /, huge$/)
		return fail_now[name] || pass_now[name] < pass["pagemap_ioctl"] ? \
			"FAILED" : "ok"
	if (!(name in stock))
		return "FAILED: on patched only"
	if (fail_now[name] > fail[name] || pass_now[name] < pass[name])
		return "FAILED: worse"
	return fail_now[name] ? "ok, no worse" : "ok"
}
END {
	print "test|stock|" kernel "|"
	print "|passed/failed/skipped|passed/failed/skipped|"
	for (i = 1; i <= n; i++) {
		what = verdict(order[i])
		failed += what ~ /^FAILED/
		print order[i] "|" (order[i] in stock ? stock[order[i]] : "-") "|" \
			(order[i] in patched ? patched[order[i]] : "-") "|" what
	}
	print "TOTAL", passed + 0, failed + 0, skipped + 0
}
