package component

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/hack/cluster/internal/golden"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

// networks are the default, and the one that differs most.
var networks = []topology.Network{topology.IPv4, topology.DualStackIPv6}

func TestCommands(t *testing.T) {
	for _, network := range networks {
		t.Run(string(network), func(t *testing.T) { testCommands(t, network) })
	}
}

func testCommands(t *testing.T, network topology.Network) {
	nodes := topology.Nodes(2)
	cluster := Cluster{Dir: "/cluster", Network: network, Kubernetes: "/kubernetes", Containerd: "/containerd"}
	components := []Component{cluster.Etcd(), cluster.APIServer(), cluster.ControllerManager(), cluster.Scheduler()}
	for _, node := range nodes {
		components = append(components, cluster.Runtime(node), cluster.Kubelet(node), cluster.KubeProxy(node), cluster.VolumeProvisioner(node))
	}
	for _, component := range components {
		name := component.Name
		if PerNode(name) == component.ControlPlane {
			t.Errorf("PerNode(%q) is wrong", name)
		}
		if !component.ControlPlane {
			name = filepath.Join(component.Node.Name(), name)
		}
		golden.Check(t, filepath.Join(string(network), name+".command"), []byte(strings.Join(component.Command, "\n")+"\n"))
	}
}

func TestNodeFiles(t *testing.T) {
	for _, network := range networks {
		files, err := NodeFiles("/cluster", network, 2)
		if err != nil {
			t.Fatal(err)
		}
		for path, content := range files {
			golden.Check(t, filepath.Join(string(network), "node-2", path), content)
		}
	}
}
