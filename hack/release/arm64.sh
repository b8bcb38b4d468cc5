#!/usr/bin/env bash
# Builds the programs for arm64 as a release does, starts them under an emulation of that processor, and runs the unit
# tests of the instance manager there. Usage: arm64.sh DIRECTORY
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "$0")/../.."
emulator=qemu-aarch64-static
command -v $emulator >/dev/null || { apt-get update && apt-get install -y --no-install-recommends qemu-user-static; } >&2
version=$(cat VERSION)
unset KUBECONFIG KUBERNETES_SERVICE_HOST
export CGO_ENABLED=0 GOARCH=arm64 GOARM64=v8.0
go build -trimpath -ldflags "-s -w -X main.version=$version" -o "$out/" ./cmd/nginx-operator ./cmd/nginx-instance ./cmd/nginx-backup ./cmd/kubectl-nginx

# expect runs a program and fails unless its output contains a text. What it returns does not matter.
expect() {
	local want=$1 got
	shift
	got=$($emulator "$@" 2>&1) || true
	[[ $got == *"$want"* ]] || { printf 'arm64: %s: want %s, got:\n%s\n' "$*" "$want" "$got" >&2; exit 1; }
	echo "arm64: ${*##*/}: $want"
}

expect "$version" "$out/nginx-operator" --version
expect "$version" "$out/nginx-instance" version
expect "$version" "$out/nginx-backup" --version
expect "$version" "$out/kubectl-nginx" --version
installed=$(mktemp -d)
trap 'rm -rf "$installed"' EXIT
$emulator "$out/nginx-instance" install "$installed"
expect "$version" "$installed/nginx-instance" version
HOME=$installed expect "unable to load in-cluster configuration" "$out/nginx-operator" # It gets that far without a cluster.

# The emulation passes neither Landlock, filters of system calls, sock_diag nor subreapers on to the kernel, and shows no times
# of processes.
unsupported='^(TestHidden|TestGuard|TestGuardFails|TestSupportedAnswers|TestThisMachine|TestListeningOfTheKernel|TestListeningWithoutSockDiag|TestOrphans)$'
go test -exec $emulator -skip="$unsupported" ./internal/instance/...
