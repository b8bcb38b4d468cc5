#!/usr/bin/env bash
# Makes the archive of a release out of a commit and of nothing else: a checkout in a folder
# of its own. PROGRAMS_GOCACHE is a Go build cache for the programs, where it is not to be the
# usual one. Usage: release.sh OUT [COMMIT]
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "$0")/../.."
revision=$(git rev-parse "${2:-HEAD}")
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
git archive "$revision" | tar -x -C "$source"
date=$(git log -1 --format=%ct "$revision")
cd "$source/hack/release"
go build -o "$source/release" .
GOCACHE=${PROGRAMS_GOCACHE:-$(go env GOCACHE)} "$source/release" archive --root "$source" --out "$out" --revision "$revision" --date "$date"
