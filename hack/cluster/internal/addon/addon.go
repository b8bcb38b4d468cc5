// Package addon contains the initial objects of the cluster: its nodes, DNS and the StorageClass.
package addon

import (
	"bytes"
	_ "embed"
	"text/template"

	"example.com/nginx-operator/hack/cluster/internal/topology"
)

//go:embed manifests.yaml.tmpl
var manifestsTemplateText string

var manifestsTemplate = template.Must(template.New("manifests").Parse(manifestsTemplateText))

// Manifests renders all manifests as one stream of YAML documents.
func Manifests(network topology.Network, nodes []topology.Node, coreDNSImage string) ([]byte, error) {
	var b bytes.Buffer
	err := manifestsTemplate.Execute(&b, map[string]any{
		"Nodes":        nodes,
		"CoreDNSImage": coreDNSImage,
		"Network":      network,
		"DNSDomain":    topology.DNSDomain,
	})
	return b.Bytes(), err
}
