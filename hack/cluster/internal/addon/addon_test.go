package addon

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/hack/cluster/internal/golden"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

func TestInitial(t *testing.T) {
	for _, network := range []topology.Network{topology.IPv4, topology.DualStackIPv6} {
		manifests, err := Initial(network, topology.Nodes(2), "localhost/coredns:test")
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, filepath.Join(string(network), "initial.yaml"), manifests)
	}
}

func TestOptional(t *testing.T) {
	for _, optional := range Optionals() {
		manifests, err := optional.Manifests(Parameters{
			Network: topology.DualStackIPv6,
			ReadPKI: func(name string) ([]byte, error) { return []byte(name), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		golden.Check(t, optional.Component.Name+".yaml", manifests)
		for _, deployment := range optional.Deployments {
			namespace, name, _ := strings.Cut(deployment, "/")
			object := fmt.Sprintf("kind: Deployment\nmetadata:\n  name: %s\n  namespace: %s\n", name, namespace)
			if !strings.Contains(string(manifests), object) {
				t.Errorf("%s: there is no Deployment %s", optional.Component.Name, deployment)
			}
		}
	}
}

func TestFindOptional(t *testing.T) {
	if found, err := FindOptional("registry"); err != nil || found.Component.Name != "registry" {
		t.Errorf("found %s, error %v", found.Component.Name, err)
	}
	if _, err := FindOptional("nginx"); err == nil {
		t.Error("an unknown name was accepted")
	}
}
