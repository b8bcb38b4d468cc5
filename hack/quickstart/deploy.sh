#!/usr/bin/env bash
# Installs the operator with the image IMG and waits until it serves.
# Usage: deploy.sh KUBECTL KUSTOMIZATION IMG
set -euo pipefail
kubectl=$1 kustomization=$2 image=$3
cd "$(dirname "$0")/../.."

echo "installing the operator ($image)"
manifests=$("$kubectl" kustomize "$kustomization" | sed -E "s|image: (localhost/)?nginx-operator:.*|image: $image|")
# A conversion that has worked before goes on working: the CA is left as it is.
"$kubectl" apply --server-side --force-conflicts -f - >/dev/null <<<"$manifests"
if [ -f bin/nginx-operator ] && [ "$kustomization" = config/quickstart ]; then
	# The tag of a local image stays the same: the pods have to be made again for another program.
	build=$(cat bin/nginx-operator bin/nginx-instance | sha256sum | cut -c1-16)
	"$kubectl" -n nginx-operator-system patch deployment nginx-operator --type=merge \
		-p '{"spec":{"template":{"metadata":{"annotations":{"operator.example.com/build":"'"$build"'"}}}}}' >/dev/null
fi
"$kubectl" -n nginx-operator-system rollout status deployment nginx-operator --timeout=5m
