#!/usr/bin/env bash
# Runs make targets that are test suites, and prints the number of tests and the duration of each. It stops at the first
# failure. Suites joined by + run at the same time, those after the first with a lower priority.
# Usage: suites.sh TARGET[+TARGET...]...
set -euo pipefail
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
rows=() start=$SECONDS

duration() {
	printf '%4dm%02ds' $(($1 / 60)) $(($1 % 60))
}

# run runs a suite at a priority, and writes the row of the summary.
run() {
	local suite=$1 priority=$2 prefix=$3 start=$SECONDS result=passed tests
	nice -n "$priority" make "$suite" 2>&1 | tee "$logs/$suite" | sed -u "s/^/$prefix/" || result=FAILED
	# gotestsum ends each run with "DONE 42 tests, 1 failure in 5.6s".
	tests=$(awk '/^DONE [0-9]+ tests?/ { n += $2 } END { print n + 0 }' "$logs/$suite")
	printf '%-18s %-8s %6d %s\n' "$suite" "$result" "$tests" "$(duration $((SECONDS - start)))" >"$logs/$suite.row"
}

# failures prints what the failed tests of a suite printed, and then their names with the lines that failed: a cut log
# still has its end.
failures() {
	# gotestsum repeats all failures between "=== Failed" and "DONE".
	awk '/^=== Failed/ { found = 1 } /^DONE / { found = 0 } found' "$logs/$1" >"$logs/failures"
	tail -n 200 "$logs/failures"
	summary
	grep -E '^=== FAIL|^ +[a-z0-9_]+\.go:[0-9]+: ' "$logs/failures" | cut -c -400 | tail -n 20
}

summary() {
	printf '\n%-18s %-8s %6s %7s\n' suite result tests time
	printf '%s\n' "${rows[@]}"
	printf '%-18s %-8s %6s %s\n' total '' '' "$(duration $((SECONDS - start)))"
}

number=0
for group in "$@"; do
	number=$((number + 1))
	echo "== ${group//+/ and } ($number of $#)"
	IFS=+ read -ra suites <<<"$group"
	if [ ${#suites[@]} = 1 ]; then
		run "$group" 0 ''
	else
		priority=0
		for suite in "${suites[@]}"; do
			run "$suite" $priority "$suite: " &
			priority=10
		done
		wait
	fi
	for suite in "${suites[@]}"; do
		rows+=("$(cat "$logs/$suite.row")")
	done
	for suite in "${suites[@]}"; do
		if grep -q FAILED "$logs/$suite.row"; then
			failures "$suite"
			echo "$suite failed; run it alone with: make $suite" >&2
			exit 1
		fi
	done
done
summary
