package component

import (
	"bytes"
	"embed"
	"fmt"
	"strings"
	"text/template"

	"example.com/nginx-operator/hack/cluster/internal/cgroup"
	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.tmpl"))

// PauseImage is the image of pod sandboxes.
const PauseImage = "localhost/pause:v1"

// CNIBinDir is the folder in which Debian's containernetworking-plugins installs the plugins.
const CNIBinDir = "/usr/lib/cni"

// AuditPolicy returns the API server's audit policy.
func AuditPolicy() ([]byte, error) { return templateFiles.ReadFile("templates/audit-policy.yaml") }

// NodeFiles renders a node's configuration files, by path relative to the node's folder. kubelet is the minor version of
// kubelet and kube-proxy.
func NodeFiles(dir state.Cluster, network topology.Network, node topology.Node, kubelet string) (map[string][]byte, error) {
	values := map[string]any{
		"Dir":          dir,
		"Node":         node,
		"NodeNumber":   int(node),
		"Network":      network,
		"DNSDomain":    topology.DNSDomain,
		"PodCIDRs":     strings.Join(network.PodCIDRs(), ","),
		"MaxPods":      topology.MaxPods,
		"CgroupRoot":   cgroup.Path(node.Name()),
		"PauseImage":   PauseImage,
		"RegistryName": topology.RegistryName,
		"Registry":     topology.Registry,
		"CNIPlugins":   CNIBinDir,
		"Kubelet":      kubelet,
	}
	files := map[string][]byte{}
	for path, name := range map[string]string{
		"kubelet.yaml":         "kubelet.yaml.tmpl",
		"kube-proxy.yaml":      "kube-proxy.yaml.tmpl",
		"containerd.toml":      "containerd.toml.tmpl",
		"cni/10-pods.conflist": "cni.conflist.tmpl",
		"hosts":                "hosts.tmpl",
		"registries/" + topology.Registry + "/hosts.toml": "registry.toml.tmpl",
	} {
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, name, values); err != nil {
			return nil, fmt.Errorf("rendering %s: %w", name, err)
		}
		files[path] = b.Bytes()
	}
	return files, nil
}
