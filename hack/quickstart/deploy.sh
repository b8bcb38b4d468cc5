#!/usr/bin/env bash
# Installs the operator with the image IMG and waits until it serves.
# Usage: deploy.sh KUBECTL KUSTOMIZATION IMG
set -euo pipefail
kubectl=$1 kustomization=$2 image=$3
cd "$(dirname "$0")/../.."

echo "installing the operator ($image)"
manifests=$("$kubectl" kustomize "$kustomization" | sed -E "s|image: (localhost/)?nginx-operator:.*|image: $image|")
# This leaves the CA in the CRD as it is, so conversions continue to work.
"$kubectl" apply --server-side --force-conflicts -f - >/dev/null <<<"$manifests"
if [ -f bin/nginx-operator ] && [ "$kustomization" = config/quickstart ]; then
	# The tag of a local image never changes, so an annotation replaces the pods when the programs change.
	build=$(cat bin/nginx-operator bin/nginx-instance | sha256sum | cut -c1-16)
	"$kubectl" -n nginx-operator-system patch deployment nginx-operator --type=merge \
		-p '{"spec":{"template":{"metadata":{"annotations":{"operator.example.com/build":"'"$build"'"}}}}}' >/dev/null
fi
"$kubectl" -n nginx-operator-system rollout status deployment nginx-operator --timeout=5m
