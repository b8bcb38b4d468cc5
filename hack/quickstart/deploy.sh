#!/usr/bin/env bash
# Installs the operator with the image IMG and waits until it serves.
# Usage: deploy.sh KUBECTL IMG
set -euo pipefail
kubectl=$1 image=$2
cd "$(dirname "$0")/../.."

echo "installing the operator ($image)"
"$kubectl" kustomize config/quickstart |
	sed "s|image: localhost/nginx-operator:dev|image: $image|" |
	"$kubectl" apply --server-side --force-conflicts -f - >/dev/null
# The tag stays the same while the image changes: pods have to be made again.
id=$(sha256sum bin/nginx-operator | cut -c1-16)
"$kubectl" -n nginx-operator-system patch deployment nginx-operator --type=merge \
	-p '{"spec":{"template":{"metadata":{"annotations":{"operator.example.com/build":"'"$id"'"}}}}}' >/dev/null
"$kubectl" -n nginx-operator-system rollout status deployment nginx-operator --timeout=5m
