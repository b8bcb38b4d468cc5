// Package desired builds the objects that should exist for an application. It is pure: it reads the
// resource, the observed state and the selected revision, and returns intents.
//
// The part of an object that is the same for all applications is a YAML manifest in package manifests,
// decoded strictly into an apply configuration. Go sets only what depends on the application. An apply
// configuration names exactly the fields that the operator wants to own, so that it touches no other
// manager's fields.
package desired

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
)

// input is what the builders read.
type input struct {
	app       *application.Application
	state     observe.State
	selection *revision.Selection
}

// Objects are what should exist for an application.
type Objects struct {
	// Intents are in the order in which they have to be applied.
	Intents []owned.Intent
	// KeepsPorts reports whether the Service keeps the ports of pods that are being replaced, until they are
	// gone.
	KeepsPorts bool
}

// Build returns the objects that should exist for an application.
func Build(app *application.Application, state observe.State, selection *revision.Selection) (objects Objects, err error) {
	in := &input{app: app, state: state, selection: selection}
	if objects.KeepsPorts, err = in.keepsPorts(); err != nil {
		return objects, fmt.Errorf("find the ports of the pods: %w", err)
	}
	for _, r := range table(app.Workload()) {
		if r.needsConfig && selection.Next.Files == nil {
			continue
		}
		intent, err := in.intent(r)
		if err != nil {
			return objects, fmt.Errorf("build %s: %w", r.Name, err)
		}
		objects.Intents = append(objects.Intents, intent)
	}
	for _, more := range []func() ([]owned.Intent, error){in.podServices, in.optionalObjects} {
		intents, err := more()
		if err != nil {
			return objects, err
		}
		objects.Intents = append(objects.Intents, intents...)
	}
	return objects, nil
}

func (in *input) intent(r row) (owned.Intent, error) {
	built, err := r.build(in)
	if err != nil {
		return owned.Intent{}, err
	}
	if built.config == nil {
		return owned.Intent{Kind: r.Kind, Name: r.ObjectName(in.app.Name)}, nil
	}
	return built.intent(r.Kind)
}

// object is what a builder returns; zero if the object should not exist.
type object struct {
	config runtime.ApplyConfiguration
	meta   *metav1ac.ObjectMetaApplyConfiguration
}

// intent returns the object as what should exist of a kind.
func (o object) intent(kind owned.Kind) (owned.Intent, error) {
	intent := owned.Intent{Kind: kind, Name: *o.meta.Name, Config: o.config, Meta: o.meta}
	var err error
	intent.Fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(o.config)
	return intent, err
}

// replicas returns the number of pods to request, nil to leave it to its owner.
//
// An autoscaler that targets the Deployment owns the field from its first write on. Until then the operator is its
// only owner: leaving the field out would reduce it to 1, so the operator carries the live value.
func (in *input) replicas() *int32 {
	live := in.state.Deployment()
	switch {
	case in.state.Autoscaler == "" || live == nil:
		return new(ptr.Deref(in.app.Spec.Replicas, 1))
	case observe.ReplicasOwnedByOther(live):
		return nil
	default:
		return live.Spec.Replicas
	}
}

// meta returns the metadata of every owned object. There is no blockOwnerDeletion: it would need a permission on
// finalizers, and nothing here has to be waited for.
func (in *input) meta(name string) *metav1ac.ObjectMetaApplyConfiguration {
	return metav1ac.ObjectMeta().
		WithName(name).
		WithNamespace(in.app.Namespace).
		WithLabels(naming.Labels(in.app.Name)).
		WithOwnerReferences(in.app.Owner.Reference())
}

// addLabels adds the labels that a spec declares, except for those that belong to the operator.
func addLabels(meta *metav1ac.ObjectMetaApplyConfiguration, want map[string]string) {
	for key, value := range want {
		if _, ours := meta.Labels[key]; !ours && !strings.HasPrefix(key, naming.Prefix) {
			meta.WithLabels(map[string]string{key: value})
		}
	}
}

func (in *input) selector() *metav1ac.LabelSelectorApplyConfiguration {
	return metav1ac.LabelSelector().WithMatchLabels(naming.SelectorLabels(in.app.Name))
}
