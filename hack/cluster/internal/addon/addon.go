// Package addon holds what is in the cluster from the start: its nodes and DNS.
package addon

import (
	"bytes"
	_ "embed"
	"text/template"

	"example.com/nginx-operator/hack/cluster/internal/topology"
)

//go:embed manifests.yaml.tmpl
var source string

var manifests = template.Must(template.New("manifests").Parse(source))

// Manifests renders everything as one stream of YAML documents.
func Manifests(nodes []topology.Node, coreDNSImage string) ([]byte, error) {
	var b bytes.Buffer
	err := manifests.Execute(&b, map[string]any{
		"Nodes":        nodes,
		"CoreDNSImage": coreDNSImage,
		"DNSIP":        topology.DNSIP,
		"DNSDomain":    topology.DNSDomain,
	})
	return b.Bytes(), err
}
