#!/usr/bin/env bash
# Runs the API-level tests against the API servers of versions of Kubernetes, and prints a row for each: how many tests
# ran and failed, and which needs.txt left out. It continues after a failure. etcd and the controllers are always those
# of the newest version. Usage: [SKIP=PATTERN] matrix.sh CLUSTER VERSION... -- COMMAND... ; the command runs the tests.
set -euo pipefail
cluster=$1
shift
versions=()
while [ "$1" != -- ]; do
	versions+=("$1")
	shift
done
shift
needs=$(dirname "$0")/needs.txt
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rows=() failed=

# older reports whether version $1 is older than $2.
older() {
	[ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

assets=$("$cluster" envtest-assets)
for version in "${versions[@]}"; do
	server=$("$cluster" apiserver "$version")/kube-apiserver
	echo "== API-level tests with $("$server" --version)"
	skip=(${SKIP:+"$SKIP"}) reasons=() result=passed start=$SECONDS
	while read -r since test api; do
		if [ "$since" != '#' ] && older "$version" "$since"; then
			skip+=("^$test\$")
			reasons+=("$test ($api is in Kubernetes $since)")
		fi
	done <"$needs"
	KUBEBUILDER_ASSETS=$assets TEST_ASSET_KUBE_APISERVER=$server "$@" ${skip:+-skip="$(IFS='|'; echo "${skip[*]}")"} 2>&1 | tee "$log" || result=FAILED
	grep -qE '^DONE [1-9]' "$log" || result=FAILED # No test ran.
	[ $result = passed ] || failed=$failed\ $version
	# gotestsum ends with "DONE 42 tests, 2 skipped, 1 failure in 5.6s".
	row=$(awk '/^DONE [0-9]+ tests?/ { tests += $2; for (i = 3; i < NF; i++) { if ($(i + 1) ~ /^skipped/) skipped += $i; if ($(i + 1) ~ /^failures?/) failures += $i } }
		END { printf "%6d %8d %7d", tests, failures, skipped }' "$log")
	rows+=("$(printf '%-8s %-7s %s %4dm%02ds' "$version" $result "$row" $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)))")
	for reason in "${reasons[@]}"; do
		rows+=("$(printf '%-8s left out: %s' '' "$reason")")
	done
done
printf '\n%-8s %-7s %6s %8s %7s %7s\n' version result tests failures skipped time
printf '%s\n' "${rows[@]}"
[ -z "$failed" ] || { echo "failed:$failed; run one alone with: make test-matrix VERSIONS=VERSION" >&2; exit 1; }
