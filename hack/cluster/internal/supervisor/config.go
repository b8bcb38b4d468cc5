package supervisor

import (
	"encoding/json"
	"fmt"
	"os"

	"example.com/nginx-operator/hack/cluster/internal/state"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// Config contains the decisions of `up` that the supervisor needs.
type Config struct {
	Nodes   int              `json:"nodes"`
	Network topology.Network `json:"network"`
	// Kubernetes, Containerd and NodePrograms are the folders of the built programs. NodePrograms has kubelet and
	// kube-proxy.
	Kubernetes   string `json:"kubernetes"`
	Containerd   string `json:"containerd"`
	NodePrograms string `json:"nodePrograms"`
	// KubeletVersion is the minor version of kubelet and kube-proxy, such as 1.37.
	KubeletVersion string `json:"kubeletVersion"`
	// CoreDNSImage is the tag of the image.
	CoreDNSImage string `json:"coreDNSImage"`
	// Images are the archives that every node starts with.
	Images []string `json:"images"`
}

// WriteConfig writes the configuration for the supervisor.
func WriteConfig(cluster state.Cluster, config Config) error {
	content, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return state.ReplaceFile(cluster.Config(), content, 0o600)
}

// ReadConfig reads the configuration that `up` has written.
func ReadConfig(cluster state.Cluster) (Config, error) {
	content, err := os.ReadFile(cluster.Config())
	if err != nil {
		return Config{}, err
	}
	var config Config
	if err := json.Unmarshal(content, &config); err != nil {
		return Config{}, fmt.Errorf("reading %s: %w", cluster.Config(), err)
	}
	return config, nil
}
