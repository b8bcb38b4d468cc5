#!/usr/bin/env bash
# Runs make targets that are test suites, one after the other: beside another suite, a test with a patience of minutes gets
# too little of a small machine. It prints the number of tests and the duration of each suite, and stops at the first failure.
# Usage: suites.sh TARGET...
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log" "$log.failures"' EXIT
rows=() total=$SECONDS

duration() {
	printf '%4dm%02ds' $(($1 / 60)) $(($1 % 60))
}

# failures prints what the failed tests of a suite printed, and then their names with the lines that failed: a cut log
# still has its end.
failures() {
	# gotestsum repeats all failures between "=== Failed" and "DONE".
	awk '/^=== Failed/ { found = 1 } /^DONE / { found = 0 } found' "$log" >"$log.failures"
	tail -n 200 "$log.failures"
	summary
	grep -E '^=== FAIL|^ +[a-z0-9_]+\.go:[0-9]+: ' "$log.failures" | cut -c -400 | tail -n 20
}

summary() {
	printf '\n%-18s %-8s %6s %7s\n' suite result tests time
	printf '%s\n' "${rows[@]}"
	printf '%-18s %-8s %6s %s\n' total '' '' "$(duration $((SECONDS - total)))"
}

number=0
for suite in "$@"; do
	number=$((number + 1)) start=$SECONDS result=passed
	echo "== $suite ($number of $#)"
	make "$suite" 2>&1 | tee "$log" || result=FAILED
	# gotestsum ends each run with "DONE 42 tests, 1 failure in 5.6s".
	tests=$(awk '/^DONE [0-9]+ tests?/ { n += $2 } END { print n + 0 }' "$log")
	rows+=("$(printf '%-18s %-8s %6d %s' "$suite" "$result" "$tests" "$(duration $((SECONDS - start)))")")
	if [ "$result" = FAILED ]; then
		failures
		echo "$suite failed; run it alone with: make $suite" >&2
		exit 1
	fi
done
summary
