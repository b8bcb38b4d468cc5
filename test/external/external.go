// Package external has CustomResourceDefinitions of other projects for tests without a network: HTTPRoute of the Gateway
// API and Certificate of cert-manager. Types, defaults, limits and lists of the fields that the operator uses are those of
// the originals; other fields are left out.
package external

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

var (
	//go:embed httproutes.yaml
	httpRoutes []byte
	//go:embed certificates.yaml
	certificates []byte
)

// HTTPRoutes returns the definition of HTTPRoute.
func HTTPRoutes() (*apiextensionsv1.CustomResourceDefinition, error) { return parse(httpRoutes) }

// Certificates returns the definition of Certificate.
func Certificates() (*apiextensionsv1.CustomResourceDefinition, error) { return parse(certificates) }

func parse(text []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	return definition, yaml.UnmarshalStrict(text, definition)
}

// Install installs a definition, and waits until it is served.
func Install(ctx context.Context, c client.Client, config *rest.Config, definition *apiextensionsv1.CustomResourceDefinition) error {
	if err := c.Create(ctx, definition); err != nil {
		return fmt.Errorf("install %s: %w", definition.Name, err)
	}
	return envtest.WaitForCRDs(config, []*apiextensionsv1.CustomResourceDefinition{definition},
		envtest.CRDInstallOptions{MaxTime: time.Minute, PollInterval: 50 * time.Millisecond})
}
