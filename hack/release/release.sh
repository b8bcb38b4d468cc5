#!/usr/bin/env bash
# Makes the archive of a release out of what is committed, and of nothing else: a checkout of
# HEAD in a folder of its own. Usage: release.sh OUT
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "$0")/../.."
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
git archive HEAD | tar -x -C "$source"
revision=$(git rev-parse HEAD) date=$(git log -1 --format=%ct)
cd "$source/hack/release"
go run . archive --root "$source" --out "$out" --revision "$revision" --date "$date"
