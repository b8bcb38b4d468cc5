package build

import (
	"maps"
	"slices"
)

// Names of the components, which are also their folders.
const (
	Kubernetes = "kubernetes"
	Containerd = "containerd"
	CoreDNS    = "coredns"
	Pause      = "pause"
)

// Versions, which repeat what the components' go.mod files require; a test
// holds them together.
const (
	kubernetesVersion = "v1.37.1"
	containerdVersion = "v2.4.2"
	CoreDNSVersion    = "v1.15.0"
)

// Components are all that a cluster is made of.
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

// KubernetesComponent is the one component that tests without nodes need.
func KubernetesComponent() Component {
	return Component{
		Name:    Kubernetes,
		Version: kubernetesVersion,
		Target:  ".",
		// Without these every version reads v0.0.0, and clients that compare
		// versions misbehave. The second is client-go's copy of the first.
		Variables: map[string]string{
			"k8s.io/component-base/version.gitVersion": kubernetesVersion,
			"k8s.io/client-go/pkg/version.gitVersion":  kubernetesVersion,
		},
		Links: []string{
			"etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl", "kubelet",
		},
	}
}

func sortedKeys(m map[string]string) []string {
	return slices.Sorted(maps.Keys(m))
}
