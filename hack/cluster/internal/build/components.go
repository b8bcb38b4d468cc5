package build

import (
	"maps"
	"slices"
)

// Names of the components, which are also the names of their folders.
const (
	Kubernetes = "kubernetes"
	Containerd = "containerd"
	CoreDNS    = "coredns"
	Pause      = "pause"
	// Oldest is the API server of the oldest Kubernetes that the operator supports.
	Oldest = "oldest"
	// Registry is an optional image registry.
	Registry = "registry"
)

// Versions of the components. They repeat the requirements in the components' go.mod files; a test
// compares them.
const (
	kubernetesVersion = "v1.37.1"
	oldestVersion     = "v1.30.0"
	containerdVersion = "v2.4.2"
	CoreDNSVersion    = "v1.15.0"
	registryVersion   = "v3.1.2"
)

// Components returns all components of a cluster.
func Components() []Component {
	return []Component{KubernetesComponent(), {
		Name:      Containerd,
		Version:   containerdVersion,
		Target:    "tool",
		Variables: map[string]string{"github.com/containerd/containerd/v2/version.Version": containerdVersion},
	}, {
		Name:    CoreDNS,
		Version: CoreDNSVersion,
		Target:  ".",
	}, {
		Name:    Pause,
		Version: "v1",
		Target:  ".",
	}}
}

// KubernetesComponent is the only component that tests without nodes need.
func KubernetesComponent() Component {
	return Component{
		Name:      Kubernetes,
		Version:   kubernetesVersion,
		Target:    ".",
		Variables: gitVersion(kubernetesVersion),
		Links: []string{
			"etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl", "kubelet",
			"volume-provisioner",
		},
	}
}

// OldestComponent is the API server of the oldest Kubernetes that the operator supports. It is not
// part of a cluster: the API-level tests run against it.
func OldestComponent() Component {
	return Component{
		Name:      Oldest,
		Version:   oldestVersion,
		Target:    ".",
		Variables: gitVersion(oldestVersion),
		// The clients of cloud providers are a third of the code to compile.
		Tags:  "providerless",
		Links: []string{"kube-apiserver"},
	}
}

// RegistryComponent is the image registry.
func RegistryComponent() Component {
	return Component{
		Name:      Registry,
		Version:   registryVersion,
		Target:    ".",
		Variables: map[string]string{"github.com/distribution/distribution/v3/version.version": registryVersion},
	}
}

// gitVersion returns the linker variables that set the version. Without them, every version is
// v0.0.0, and clients that compare versions misbehave. The second one is client-go's copy of the
// first.
func gitVersion(version string) map[string]string {
	return map[string]string{
		"k8s.io/component-base/version.gitVersion": version,
		"k8s.io/client-go/pkg/version.gitVersion":  version,
	}
}

func sortedKeys(m map[string]string) []string {
	return slices.Sorted(maps.Keys(m))
}
