# SPDX-License-Identifier: MIT
# Turns what guest/selftests.sh printed into lines NAME|PASSED|FAILED|SKIPPED.
# What is expected to fail (xfail) counts as skipped.  A test that has no sum
# counts as one, by its status.
function end_test(status) {
	if (!summed) {
		pass = status == 0
		skip = status == 4
		fail = !pass && !skip
	} else if (status != 0 && status != 4 && !fail)
		fail = 1
	print name "|" pass "|" fail "|" skip
	name = ""
}
function field(text, key) {
	if (!match(text, key "[:=][0-9]+"))
		return 0
	return substr(text, RSTART + length(key) + 1, RLENGTH - length(key) - 1) + 0
}
/^TEST / {
	if (name != "")
		end_test("unknown")
	name = substr($0, 6)
	summed = pass = fail = skip = 0
}
/^STATUS / && name != "" { end_test($2) }
/^# Totals: pass:|^Userfaults unit tests: pass=/ {
	summed = 1
	pass = field($0, "pass")
	fail = field($0, " fail") + field($0, "error") + field($0, "xpass")
	skip = field($0, "skip") + field($0, "xfail")
}
END {
	if (name != "")
		end_test("unknown: the machine ended in it")
}
