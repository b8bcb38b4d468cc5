#!/usr/bin/env bash
# Builds the archive of a release from a commit alone, in a temporary folder with its files. PROGRAMS_GOCACHE is the Go
# build cache for the programs; the default is the usual one. Usage: release.sh OUT [COMMIT]
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
