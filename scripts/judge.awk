# SPDX-License-Identifier: MIT
# Judges what guest/tests.sh printed: the tests' TAP, each between a line TEST NAME
# and a line STATUS N UPTIME.  Counts as automake does, one by one.
#   rc        how the machine ended
#   backends  those that must have worked
#   tests     those that must have ended
function bad(name, what) {
	failed++
	print "FAILED " name " - " what
}
function end_test(status) {
	ended[test] = 1
	if (!planned)
		bad(test, "no plan, status " status)
	else if (ran != plan)
		bad(test, ran " of " plan " cases ran, status " status)
	else if (status != 0 && !test_failed)
		bad(test, "status " status)
	test = ""
}
/^backend / && !test { found = found (found ? "," : "") $2; has[$2] = 1 }
/^CONSUMER / && !test { consumer = $2 }
/^TEST / {
	if (test)
		end_test("unknown")
	test = $2
	planned = ran = plan = test_failed = 0
	next
}
/^STATUS / && test { end_test($2); next }
!test { next }
/^1\.\.[0-9]/ {
	planned = 1
	plan = substr($1, 4) + 0
	if (!plan && /# SKIP/) {
		skipped++
		sub(/.*# SKIP */, "")
		print "SKIP: " test " - " $0
	}
}
/^ok / {
	ran++
	if (/# SKIP/)
		skipped++
	else
		passed++
}
/^not ok / {
	ran++
	test_failed++
	sub(/^not ok [0-9]* -? ?/, "")
	bad(test, $0)
}
/^Bail out!/ { bad(test, $0); test_failed++ }
END {
	if (test)
		end_test("unknown: the machine ended in it")
	if (consumer != 0 || consumer == "")
		bad("abi_consumer", "status " consumer)
	n = split(backends, need, " ")
	for (i = 1; i <= n; i++)
		if (!(need[i] in has))
			bad("backend " need[i], "does not open")
	n = split(tests, need, " ")
	for (i = 1; i <= n; i++)
		if (!(need[i] in ended))
			bad(need[i], "did not end")
	if (rc != 0)
		bad("boot", "status " rc)
	print "TOTAL", passed + 0, failed + 0, skipped + 0, found
}
