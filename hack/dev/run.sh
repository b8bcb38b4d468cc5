#!/usr/bin/env bash
# Runs the operator as a process on this machine, in place of the one in the local cluster, until it is interrupted.
# Usage: run.sh CLUSTER KUBECTL OPERATOR [FLAG...]. With DEBUG_PORT, Delve serves a debugger on it, inside the node.
set -euo pipefail
cluster=$1 kubectl=$2 operator=$3
shift 3
namespace=nginx-operator-system deployment=nginx-operator
scale() { "$kubectl" --namespace "$namespace" scale deployment "$deployment" --replicas="$1" >/dev/null; }
get() { "$kubectl" --namespace "$namespace" get deployment "$deployment" --output "jsonpath=$1"; }

replicas=$(get '{.spec.replicas}')
if [ "$replicas" = 0 ]; then
	replicas=2 # An earlier run was killed before it could scale up again.
fi
image=$(get '{.spec.template.spec.containers[0].image}')
nginx=$(get '{.spec.template.spec.containers[0].env[?(@.name=="RELATED_IMAGE_NGINX")].value}')
trap 'echo "starting the operator in the cluster again"; scale "$replicas"' EXIT
echo "stopping the operator in the cluster; v1alpha1 cannot be read until it is back"
scale 0
"$kubectl" --namespace "$namespace" wait --for=delete pod --selector=app.kubernetes.io/name=nginx-operator --timeout=90s >/dev/null

# Pods are reachable from the network of a node, but not from that of this machine. `cluster exec` sets KUBECONFIG.
command=("$operator" --own-namespace="$namespace" --instance-image="$image" --backup-image="$image" --default-image="$nginx"
	--leader-elect=false --conversion-webhook=false
	--metrics-bind-address=0 --health-probe-bind-address=0 "$@")
if [ -n "${DEBUG_PORT:-}" ]; then
	command=(go tool -modfile=hack/tools/go.mod dlv exec --headless --accept-multiclient --continue
		--listen="127.0.0.1:$DEBUG_PORT" "$operator" -- "${command[@]:1}")
fi
"$cluster" exec -- "${command[@]}"
