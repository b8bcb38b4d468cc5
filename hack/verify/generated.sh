#!/usr/bin/env bash
# Generates everything again, and fails if that changes a file of the working tree.
set -euo pipefail
cd "$(dirname "$0")/../.."
echo "verify generated files"
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
paths=(api config/console config/crd config/default config/migration config/namespaced docs/api-reference.md docs/messages.md docs/console.md docs/installation.md docs/kubectl-nginx.md README.md charts bundle)
cp -r --parents "${paths[@]}" "$before"
make generate
for path in "${paths[@]}"; do
	if ! diff -ru "$before/$path" "$path"; then
		echo "generated files were out of date: run 'make generate' and commit the result" >&2
		exit 1
	fi
done
for module in . hack/cluster hack/release hack/site hack/casts hack/s3 hack/prometheus; do
	(cd "$module" && go mod tidy -diff) || {
		echo "go.mod or go.sum of $module is out of date: run 'go mod tidy' there" >&2
		exit 1
	}
done
