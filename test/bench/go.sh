#!/usr/bin/env bash
# Runs the Go benchmarks of what a pass consists of, and prints benchstat's table.
# Usage: go.sh [BASE]: with a commit to compare with, both run alternately, so that what else
# the machine does hits both alike.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD base=${1:-}
# Both homes of a package: benchmarks are compared with commits from before it moved.
packages=({nginx/,}{desired,apply,status,nginxconf,conversion} kube/apply instance/assemble)
rounds=${COUNT:-6}

dir=$(mktemp -d)
cleanup() {
	if [ -d "$dir/base" ]; then
		git worktree remove --force "$dir/base"
	fi
	rm -rf "$dir"
}
trap cleanup EXIT

# measure TREE OUT runs every benchmark once.
measure() {
	local present=()
	for package in "${packages[@]}"; do
		if [ -d "$1/internal/$package" ]; then
			present+=("./internal/$package")
		fi
	done
	# The table is of figures, not of what the tests' packages say, nor of the folder that they are in.
	(cd "$1" && go test -run='^$' -bench=. -benchmem -benchtime="${BENCHTIME:-300ms}" "${present[@]}") | grep -v '^ok' | sed 's#^pkg: .*/#pkg: #' >>"$2"
}

tables=("this=$dir/this.txt")
if [ -n "$base" ]; then
	git worktree add --quiet --detach "$dir/base" "$base"
	tables=("$base=$dir/base.txt" "${tables[@]}")
fi
for round in $(seq "$rounds"); do
	echo "Go benchmarks, round $round of $rounds" >&2
	if [ -n "$base" ]; then
		measure "$dir/base" "$dir/base.txt"
	fi
	measure "$root" "$dir/this.txt"
done
go tool -modfile=hack/tools/go.mod benchstat "${tables[@]}"
