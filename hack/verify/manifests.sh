#!/usr/bin/env bash
# Renders every kustomization. The end-to-end tests verify that an API server accepts them. Usage: manifests.sh KUBECTL
set -euo pipefail
kubectl=$1
cd "$(dirname "$0")/../.."
echo "verify manifests"
for kustomization in $(find config -name kustomization.yaml); do
	"$kubectl" kustomize "$(dirname "$kustomization")" >/dev/null
done
