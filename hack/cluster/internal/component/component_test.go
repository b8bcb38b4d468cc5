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
	cluster := Cluster{Dir: "/cluster", Network: network, Kubernetes: "/kubernetes", Containerd: "/containerd", NodePrograms: "/node-programs"}
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
		files, err := NodeFiles("/cluster", network, 2, "1.37")
		if err != nil {
			t.Fatal(err)
		}
		for path, content := range files {
			golden.Check(t, filepath.Join(string(network), "node-2", path), content)
		}
	}
}

// TestOldKubeProxy: the feature gate is only set where it is needed, since a later version refuses gates that it does not
// know.
func TestOldKubeProxy(t *testing.T) {
	for version, want := range map[string]bool{"1.30": true, "1.34": false, "1.37": false} {
		files, err := NodeFiles("/cluster", topology.IPv4, 1, version)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(files["kube-proxy.yaml"]), "\nfeatureGates:\n  NFTablesProxyMode: true\n"); got != want {
			t.Errorf("%s: the gate is set: %t, want %t:\n%s", version, got, want, files["kube-proxy.yaml"])
		}
	}
}
