#!/usr/bin/env bash
# Installs the operator by Helm with the image IMG, or upgrades it, and waits until it
# serves. What kustomize installed before is taken over.
# Usage: deploy-helm.sh HELM IMG [ARGUMENTS OF HELM]
set -euo pipefail
helm=$1 image=$2
shift 2
cd "$(dirname "$0")/../.."
echo "installing the operator by Helm ($image)"
if [ "$image" = localhost/nginx-operator:dev ]; then
	# The tag of a local image stays the same: the pods have to be made again for another program.
	build=$(cat bin/nginx-operator bin/nginx-instance | sha256sum | cut -c1-16)
	set -- "$@" --set-string "podAnnotations.operator\.example\.com/build=$build"
fi
"$helm" upgrade --install nginx-operator charts/nginx-operator \
	--namespace nginx-operator-system --create-namespace \
	--take-ownership --server-side=true --force-conflicts --wait --timeout 5m \
	--set image.repository="${image%:*}" --set image.tag="${image##*:}" "$@"
