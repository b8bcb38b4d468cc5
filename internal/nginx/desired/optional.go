package desired

import (
	"fmt"
	"maps"
	"slices"

	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/external"
)

// optionalRow is a kind that the cluster may lack, and of which an application may own several objects.
type optionalRow struct {
	owned.Kind
	// build returns the objects as they should be.
	build func(in *input) ([]object, error)
	// declared returns the names of the objects that the spec declares.
	declared func(app *application.Application) []string
}

// optionalTable lists the kinds that the cluster may lack. They are applied after those of the table. Lists without a key
// have one owner in a CustomResourceDefinition.
func optionalTable(workload string) []optionalRow {
	if workload != application.KindDeployment {
		return nil
	}
	rows := []optionalRow{
		{external.HTTPRoute(), httpRoutes, declaredRoutes},
		{external.Certificate(), certificates, declaredCertificates},
	}
	for i := range rows {
		rows[i].Schema = optionalSchemas[rows[i].Name]
	}
	return rows
}

var optionalSchemas = map[string]*owned.Schema{
	external.KindHTTPRoute:   owned.NewSchema(owned.Atomic("spec", "parentRefs"), owned.Atomic("spec", "hostnames"), owned.Atomic("spec", "rules")),
	external.KindCertificate: owned.NewSchema(owned.Atomic("spec", "dnsNames")),
}

// OptionalKinds returns the kinds that the cluster may lack.
func OptionalKinds(workload string) []owned.Kind {
	var kinds []owned.Kind
	for _, r := range optionalTable(workload) {
		kinds = append(kinds, r.Kind)
	}
	return kinds
}

// Declared returns the names of the objects of an optional kind that an application declares.
func Declared(app *application.Application, kind string) []string {
	for _, r := range optionalTable(app.Workload()) {
		if r.Name == kind {
			return r.declared(app)
		}
	}
	return nil
}

// optionalObjects returns the objects of the kinds that are available, and the absence of those that are no longer
// declared.
func (in *input) optionalObjects() ([]owned.Intent, error) {
	var intents []owned.Intent
	for _, r := range optionalTable(in.app.Workload()) {
		if _, unavailable := in.state.Unavailable[r.Name]; unavailable {
			continue
		}
		built, err := r.build(in)
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", r.Name, err)
		}
		superfluous := map[string]bool{}
		for key := range in.state.Owned {
			if key.Kind == r.Name {
				superfluous[key.Name] = true
			}
		}
		for _, o := range built {
			intent, err := o.intent(r.Kind)
			if err != nil {
				return nil, fmt.Errorf("build %s %s: %w", r.Name, *o.meta.Name, err)
			}
			intents = append(intents, intent)
			delete(superfluous, intent.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(superfluous)) {
			intents = append(intents, owned.Intent{Kind: r.Kind, Name: name})
		}
	}
	return intents, nil
}

// customResource is the apply configuration of a kind that has none.
type customResource[Spec any] struct {
	metav1ac.TypeMetaApplyConfiguration    `json:",inline"`
	*metav1ac.ObjectMetaApplyConfiguration `json:"metadata,omitempty"`
	Spec                                   Spec `json:"spec"`
}

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (customResource[Spec]) IsApplyConfiguration() {}

func newObject[Spec any](kind owned.Kind, meta *metav1ac.ObjectMetaApplyConfiguration, spec Spec) object {
	apiVersion, name := kind.GVK.ToAPIVersionAndKind()
	return object{&customResource[Spec]{metav1ac.TypeMetaApplyConfiguration{APIVersion: &apiVersion, Kind: &name}, meta, spec}, meta}
}
