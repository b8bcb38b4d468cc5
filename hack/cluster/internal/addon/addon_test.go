package addon

import (
	"path/filepath"
	"testing"

	"example.com/nginx-operator/hack/cluster/internal/golden"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

func TestManifests(t *testing.T) {
	for _, network := range []topology.Network{topology.IPv4, topology.DualStackIPv6} {
		manifests, err := Manifests(network, topology.Nodes(2), "localhost/coredns:test")
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join(string(network), "manifests.yaml"), manifests)
	}
}
