package addon

import (
	"testing"

	"example.com/nginx-operator/hack/cluster/internal/golden"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

func TestManifests(t *testing.T) {
	manifests, err := Manifests(topology.Nodes(2), "localhost/coredns:test")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "manifests.yaml", manifests)
}
