#!/usr/bin/env bash
# Renders every kustomization. That an API server takes them is what the
# end-to-end tests show. Usage: manifests.sh KUBECTL
set -euo pipefail
kubectl=$1
cd "$(dirname "$0")/../.."
echo "verify manifests"
for kustomization in $(find config -name kustomization.yaml); do
	"$kubectl" kustomize "$(dirname "$kustomization")" >/dev/null
done
