// Package addon contains the objects of the cluster: the initial ones, which are its nodes, DNS and
// the StorageClass, and those of the optional parts.
package addon

import (
	"bytes"
	_ "embed"
	"text/template"

	"example.com/nginx-operator/hack/cluster/internal/topology"
)

//go:embed initial.yaml.tmpl
var initialTemplateText string

var initialTemplate = template.Must(template.New("initial").Parse(initialTemplateText))

// Initial renders the initial objects as one stream of YAML documents.
func Initial(network topology.Network, nodes []topology.Node, coreDNSImage string) ([]byte, error) {
	var b bytes.Buffer
	err := initialTemplate.Execute(&b, map[string]any{
		"Nodes":        nodes,
		"CoreDNSImage": coreDNSImage,
		"Network":      network,
		"DNSDomain":    topology.DNSDomain,
	})
	return b.Bytes(), err
}
