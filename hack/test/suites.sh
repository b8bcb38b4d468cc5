#!/usr/bin/env bash
# Runs make targets that are test suites, one after the other, and prints the number of tests and the duration of each.
# It stops at the first failure. Usage: suites.sh TARGET...
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rows=() total=$SECONDS

summary() {
	printf '\n%-16s %-8s %6s %7s\n' suite result tests time
	printf '%s\n' "${rows[@]}"
	printf '%-16s %-8s %6s %4dm%02ds\n' total '' '' $(((SECONDS - total) / 60)) $(((SECONDS - total) % 60))
}

number=0
for suite in "$@"; do
	number=$((number + 1)) start=$SECONDS result=passed
	echo "== $suite ($number of $#)"
	make "$suite" 2>&1 | tee "$log" || result=FAILED
	# gotestsum ends each run with "DONE 42 tests, 1 failure in 5.6s".
	tests=$(awk '/^DONE [0-9]+ tests?/ { n += $2 } END { print n + 0 }' "$log")
	time=$((SECONDS - start))
	rows+=("$(printf '%-16s %-8s %6d %4dm%02ds' "$suite" "$result" "$tests" $((time / 60)) $((time % 60)))")
	if [ "$result" = FAILED ]; then
		summary
		echo "$suite failed; run it alone with: make $suite" >&2
		exit 1
	fi
done
summary
