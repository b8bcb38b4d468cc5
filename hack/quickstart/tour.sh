#!/usr/bin/env bash
# Demonstrates the operator with the samples. Usage: tour.sh KUBECTL
set -euo pipefail
kubectl=$1
cd "$(dirname "$0")/../.."
export PATH=$PATH:$PWD/bin # kubectl nginx

if ! command -v curl >/dev/null; then
	echo "installing curl"
	apt-get install -y --no-install-recommends curl >/dev/null ||
		{ apt-get update >/dev/null && apt-get install -y --no-install-recommends curl >/dev/null; }
fi

show() {
	printf '\n\033[1m$ %s\033[0m\n' "${*/#$kubectl/kubectl}"
	"$@"
}

# answer NAME PORT PATH fetches an answer of nginx through a port-forward. It retries, because a forward ends with its
# pod, and a new operator may be replacing pods.
answer() {
	local tries
	for tries in 1 2 3 4 5; do
		if forward_and_fetch "$@"; then
			return 0
		fi
		sleep "$tries"
	done
	echo "service $1 does not answer" >&2
	return 1
}

forward_and_fetch() {
	local name=$1 port=$2 path=$3 log pid local_port="" body status=1
	log=$(mktemp)
	"$kubectl" port-forward "service/$name" ":$port" >"$log" 2>&1 &
	pid=$!
	for _ in $(seq 100); do
		local_port=$(sed -n 's/^Forwarding from 127.0.0.1:\([0-9]*\).*/\1/p' "$log")
		if [ -n "$local_port" ] || ! kill -0 "$pid" 2>/dev/null; then break; fi
		sleep 0.1
	done
	if [ -n "$local_port" ] && body=$(curl --silent --fail --include --max-time 5 "http://127.0.0.1:$local_port$path"); then
		printf '\n\033[1m$ kubectl port-forward service/%s :%s &\n$ curl -i http://127.0.0.1:%s%s\033[0m\n%s\n' \
			"$name" "$port" "$local_port" "$path" "$body"
		status=0
	fi
	kill "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	rm -f "$log"
	return "$status"
}

printf '\nThe first design, as it was written for v1alpha1:\n\n'
cat config/samples/v1alpha1_instance.yaml
show "$kubectl" apply --server-side -k config/samples
show "$kubectl" wait --for=condition=Ready nginx --all --timeout=5m
show "$kubectl" get nginx
show "$kubectl" get -o yaml nginxoperator/instance
show "$kubectl" describe nginxoperator/instance
answer instance 80 /
answer hello 80 /
answer proxy 8080 /
show "$kubectl" get all
show "$kubectl" nginx status hello

cat <<TEXT

That was real: $("$kubectl" get pods --no-headers | wc -l) nginx pods run on this machine. Go on:

  export KUBECONFIG=\$(make -s kubeconfig) PATH=\$PATH:\$PWD/bin:\$(make -s envtest-assets)
  kubectl edit nginx hello                      # change something, and watch in another terminal:
  kubectl nginx status hello -w
  kubectl explain nginx.spec
  kubectl -n nginx-operator-system logs -l app.kubernetes.io/name=nginx-operator --tail=20

  make test      # the tests       make down      # stop and remove all this
TEXT
