package addon

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	"example.com/nginx-operator/hack/cluster/internal/build"
	"example.com/nginx-operator/hack/cluster/internal/topology"
)

//go:embed optional
var optionalFiles embed.FS

var optionalTemplates = template.Must(template.New("optional").Funcs(template.FuncMap{
	"base64": func(content []byte) string { return base64.StdEncoding.EncodeToString(content) },
}).ParseFS(optionalFiles, "optional/*.tmpl"))

// Optional is a part that a cluster has on request: a program of one component, run by pods.
type Optional struct {
	Component build.Component
	// Deployments are what has to be rolled out until the part can be used, by namespace and name.
	Deployments []string
	// Waits are arguments of `kubectl wait`, for what else has to happen.
	Waits [][]string
}

// Optionals returns all optional parts. The names of their components are the names for users.
func Optionals() []Optional {
	return []Optional{
		{Component: build.RegistryComponent(), Deployments: []string{"registry/registry"}},
		{Component: build.TraefikComponent(), Deployments: []string{"traefik/traefik"}},
		{Component: build.CertManagerComponent(), Deployments: []string{
			"cert-manager/cert-manager", "cert-manager/cert-manager-cainjector", "cert-manager/cert-manager-webhook",
		}, Waits: [][]string{
			// Until then, the API server does not trust the webhook's certificate.
			{"--for=jsonpath={.webhooks[0].clientConfig.caBundle}", "validatingwebhookconfiguration/cert-manager-webhook"},
			{"--for=jsonpath={.webhooks[0].clientConfig.caBundle}", "mutatingwebhookconfiguration/cert-manager-webhook"},
		}},
	}
}

// FindOptional returns the optional part of a name.
func FindOptional(name string) (Optional, error) {
	names := make([]string, 0, len(Optionals()))
	for _, optional := range Optionals() {
		if optional.Component.Name == name {
			return optional, nil
		}
		names = append(names, optional.Component.Name)
	}
	return Optional{}, fmt.Errorf("%q is not an addon: it must be one of %s", name, strings.Join(names, ", "))
}

// Image returns the tag of the image, whose only program has the component's name.
func (o Optional) Image() string {
	return "localhost/" + o.Component.Name + ":" + o.Component.Version
}

// Parameters are what the manifests depend on.
type Parameters struct {
	Network topology.Network
	// ReadPKI returns a file of the cluster's PKI.
	ReadPKI func(name string) ([]byte, error)
}

// Manifests renders the manifests as one stream of YAML documents.
func (o Optional) Manifests(parameters Parameters) ([]byte, error) {
	var b bytes.Buffer
	err := optionalTemplates.ExecuteTemplate(&b, o.Component.Name+".yaml.tmpl", map[string]any{
		"Image":     o.Image(),
		"Network":   parameters.Network,
		"PKI":       parameters.ReadPKI,
		"DNSDomain": topology.DNSDomain,
	})
	return b.Bytes(), err
}

// Definitions returns the folder of the CustomResourceDefinitions in the folder of the programs. It
// is missing if there are none.
func (o Optional) Definitions(programs string) string { return filepath.Join(programs, build.FilesDir) }
