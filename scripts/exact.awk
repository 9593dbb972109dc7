# SPDX-License-Identifier: MIT
# Compares a table of bench/EXACT.md, read first, with a measured one.
# $2 case, $3 backend, $4 n, $5 instructions, $6 peer, $7 ratio
function figure() {
	return $6 == "" ? $5 : $7
}
!/^[|]/ || $2 == "case" || /^[|]-/ { next }
{ key = $2 "[" $3 "] " $4 ($6 == "" ? "" : " of " $6) }
NR == FNR { recorded[key] = figure(); next }
{
	seen[key] = 1
	was = "-"
	verdict = "not recorded"
	if (key in recorded) {
		was = recorded[key]
		verdict = "ok"
		if (figure() > was * 1.01)
			verdict = "FAILED"
		else if (figure() < was * 0.99)
			verdict = "better"
	}
	if (verdict == "FAILED")
		failed++
	else if (verdict == "not recorded")
		skipped++
	else
		passed++
	printf "%-12s %-48s %10s  recorded %s\n", verdict, key, figure(), was
}
END {
	for (key in recorded)
		if (!(key in seen)) {
			failed++
			print "FAILED       " key " was not measured"
		}
	printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed > 0
}
