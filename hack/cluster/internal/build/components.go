package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names of the components, which are also the names of their folders.
const (
	Kubernetes = "kubernetes"
	Containerd = "containerd"
	CoreDNS    = "coredns"
	Pause      = "pause"
	// APIServer is the API server of a version of Kubernetes other than that of the cluster.
	APIServer = "apiserver"
	// Kubelet is kubelet and kube-proxy of a version of Kubernetes other than that of the cluster.
	Kubelet = "kubelet"
	// Registry, Traefik and CertManager are optional parts of a cluster.
	Registry    = "registry"
	Traefik     = "traefik"
	CertManager = "cert-manager"
)

// Versions of the components. They repeat the requirements in the components' go.mod files; a test
// compares them.
const (
	kubernetesVersion  = "v1.37.1"
	containerdVersion  = "v2.4.2"
	CoreDNSVersion     = "v1.15.0"
	registryVersion    = "v3.1.2"
	traefikVersion     = "v3.7.13"
	certManagerVersion = "v1.21.2"
)

// apiServerVersions are the versions of the API servers that are not part of a cluster, for the API-level tests. The
// first one is the oldest that the operator supports. Each has the file <minor version>.mod in components/apiserver.
var apiServerVersions = []string{"v1.30.0", "v1.31.14", "v1.33.13", "v1.35.4"}

// kubeletVersions are the other versions of kubelet and kube-proxy that nodes can have: the oldest one that the operator
// supports, and the oldest one that Kubernetes supports with the cluster's API server
// (https://kubernetes.io/releases/version-skew-policy/#kubelet). Each has the file <minor version>.mod in
// components/kubelet.
var kubeletVersions = []string{"v1.30.0", "v1.34.4"}

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

// APIServerVersions returns the minor versions of all API servers that can be built, such as 1.30, the oldest one first.
// The last one is that of the cluster.
func APIServerVersions() []string { return minorVersions(apiServerVersions) }

// KubeletVersions returns the minor versions of all kubelets that can be built, as APIServerVersions does.
func KubeletVersions() []string { return minorVersions(kubeletVersions) }

// ClusterVersion returns the minor version of the cluster.
func ClusterVersion() string { return minor(kubernetesVersion) }

// minorVersions returns the minor versions of these versions, and that of the cluster.
func minorVersions(others []string) []string {
	var all []string
	for _, version := range others {
		all = append(all, minor(version))
	}
	return append(all, ClusterVersion())
}

// minor returns 1.30 for v1.30.0.
func minor(version string) string {
	return strings.TrimPrefix(version[:strings.LastIndex(version, ".")], "v")
}

// APIServerComponent is the API server of a minor version, such as 1.30. It is not part of a cluster, unless it is that
// of the cluster's version.
func APIServerComponent(minorVersion string) (Component, error) {
	return componentOf(minorVersion, apiServerVersions, Component{Name: APIServer, Links: []string{"kube-apiserver"}})
}

// KubeletComponent is kubelet and kube-proxy of a minor version, such as 1.30.
func KubeletComponent(minorVersion string) (Component, error) {
	return componentOf(minorVersion, kubeletVersions, Component{Name: Kubelet, Links: []string{"kube-proxy"}})
}

// componentOf completes a component for one of the versions of Kubernetes that it has. It is that of the cluster, if its
// version is asked for.
func componentOf(minorVersion string, versions []string, c Component) (Component, error) {
	if minorVersion == ClusterVersion() {
		return KubernetesComponent(), nil
	}
	for _, version := range versions {
		if minor(version) == minorVersion {
			c.Version, c.Target, c.ModFile, c.Variables = version, ".", minorVersion+".mod", gitVersion(version)
			// The clients of cloud providers are a third of the code to compile.
			c.Tags = "providerless"
			return c, nil
		}
	}
	return Component{}, fmt.Errorf("there is no %s of Kubernetes %s: use one of %s", c.Name, minorVersion, strings.Join(minorVersions(versions), ", "))
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
