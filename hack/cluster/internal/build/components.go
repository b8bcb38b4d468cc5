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
	// Registry, Traefik and CertManager are optional parts of a cluster.
	Registry    = "registry"
	Traefik     = "traefik"
	CertManager = "cert-manager"
)

// Versions of the components. They repeat the requirements in the components' go.mod files; a test
// compares them.
const (
	kubernetesVersion  = "v1.37.1"
	oldestVersion      = "v1.30.0"
	containerdVersion  = "v2.4.2"
	CoreDNSVersion     = "v1.15.0"
	registryVersion    = "v3.1.2"
	traefikVersion     = "v3.7.13"
	certManagerVersion = "v1.21.2"
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

// TraefikComponent is Traefik, which implements Ingress and the Gateway API. Its go.mod says what
// differs from the original.
func TraefikComponent() Component {
	return Component{
		Name:      Traefik,
		Version:   traefikVersion,
		Target:    "tool",
		Variables: map[string]string{"github.com/traefik/traefik/v3/pkg/version.Version": traefikVersion},
		Files:     []ModuleFiles{{Module: "sigs.k8s.io/gateway-api", Pattern: "config/crd/standard/*.yaml"}},
		Copies: []ModuleCopy{{
			Module:  "github.com/go-acme/lego/v5",
			Version: "v5.4.1",
			Sum:     "h1:Jt6xAP9xQrJ3SLLGgxejfDDd3pzdrmuLCWe4oTqHHQc=",
			Dir:     "lego",
			Without: []string{"cmd", "e2e", "providers"},
			With:    map[string]string{"dns/dns.go": "providers/dns/dns.go"},
		}},
	}
}

// CertManagerComponent is cert-manager, with the issuers that need nothing outside of the cluster.
func CertManagerComponent() Component {
	return Component{
		Name:      CertManager,
		Version:   certManagerVersion,
		Target:    ".",
		Variables: map[string]string{"github.com/cert-manager/cert-manager/pkg/util.AppVersion": certManagerVersion},
		Files:     []ModuleFiles{{Module: "github.com/cert-manager/cert-manager", Pattern: "deploy/crds/*.yaml"}},
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
