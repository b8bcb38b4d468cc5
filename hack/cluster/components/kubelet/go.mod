// One program, main.go, with the modules of several versions of Kubernetes: each version has a file of its own
// (go build -modfile=1.30.mod). Go needs this file, and does not read it then.
module example.com/nginx-operator/hack/cluster/components/kubelet

go 1.22.0
