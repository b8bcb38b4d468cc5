#!/usr/bin/env bash
# Writes the modules of a component for a version of Kubernetes. Usage: version.sh apiserver|kubelet 1.33.13
#
# k8s.io/kubernetes is not meant to be imported: its staging modules are v0.0.0 there, so each is replaced by its
# published twin.
set -euo pipefail
component=$1 version=$2
minor=${version%.*}
declare -A titles=([apiserver]="The API server" [kubelet]="The kubelet and kube-proxy")
cd "$(dirname "$0")/$component"
export GOFLAGS= GOWORK=off
kubernetes=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
{
	echo "// ${titles[$component]} of Kubernetes $version, written by version.sh."
	echo "module example.com/nginx-operator/hack/cluster/components/$component"
	echo
	grep -E '^(go|godebug) ' "$kubernetes"
	echo
	echo "require ("
	echo "	k8s.io/component-base v0.${version#*.}"
	echo "	k8s.io/kubernetes v$version"
	echo ")"
	echo
	echo "replace ("
	sed -nE "s|^\t(k8s.io/[a-z-]+) => ./staging/.*|\t\1 => \1 v0.${version#*.}|p; s|^\t(k8s.io/[a-z-]+) v0\.0\.0( .*)?$|\t\1 => \1 v0.${version#*.}|p" "$kubernetes" | sort -u
	echo ")"
} >"$minor.mod"
go mod tidy -modfile="$minor.mod"
