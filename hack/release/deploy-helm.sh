#!/usr/bin/env bash
# Installs or upgrades the operator by Helm with the image IMG, and waits until it serves. It takes over objects that
# kustomize installed before.
# Usage: deploy-helm.sh HELM IMG [HELM ARGUMENTS]
set -euo pipefail
helm=$1 image=$2
shift 2
cd "$(dirname "$0")/../.."
echo "installing the operator by Helm ($image)"
if [ "$image" = localhost/nginx-operator:dev ]; then
	# The tag of a local image never changes, so an annotation replaces the pods when the programs change.
	build=$(cat bin/nginx-operator bin/nginx-instance | sha256sum | cut -c1-16)
	set -- "$@" --set-string "podAnnotations.operator\.example\.com/build=$build"
fi
"$helm" upgrade --install nginx-operator charts/nginx-operator \
	--namespace nginx-operator-system --create-namespace \
	--take-ownership --server-side=true --force-conflicts --wait --timeout 5m \
	--set image.repository="${image%:*}" --set image.tag="${image##*:}" "$@"
