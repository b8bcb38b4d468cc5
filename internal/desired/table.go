package desired

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// Kind is a kind of object that an application owns.
type Kind struct {
	observe.Kind
	// build makes the object as it should be.
	build func(in *input) (object, error)
	// Requires are the kinds without which an object of this kind would do harm: it
	// is not written while one of them could not be.
	Requires []string
	// needsConfig tells that there is nothing to build without a configuration.
	needsConfig bool
}

// HistoryKind is the kind that holds the history. It is not in the table: there are many
// of it, and each tells of a time that is over.
const HistoryKind = "ControllerRevision"

// Kinds is the table of everything that an application owns. It drives what is
// built and in which order, watched and pruned.
func Kinds() []Kind {
	core := corev1.SchemeGroupVersion
	return []Kind{
		{kindOf[corev1.ServiceAccount](core, "ServiceAccount", naming.ServiceAccount), serviceAccount, nil, false},
		{kindOf[corev1.ConfigMap](core, "ConfigMap", naming.ConfigMap), stableConfigMap, nil, true},
		{kindOf[corev1.ConfigMap](core, "ConfigMap", naming.ConfigMapNext), nextConfigMap, nil, true},
		{kindOf[corev1.Service](core, "Service", naming.Service), service, nil, false},
		{kindOf[appsv1.Deployment](appsv1.SchemeGroupVersion, "Deployment", naming.Deployment), deployment, []string{"ServiceAccount", "ConfigMap", HistoryKind}, true},
		{kindOf[policyv1.PodDisruptionBudget](policyv1.SchemeGroupVersion, "PodDisruptionBudget", naming.PodDisruptionBudget), podDisruptionBudget, nil, false},
	}
}

// kindOf describes the kind of T.
func kindOf[T any, P interface {
	*T
	observe.Object
}](gv schema.GroupVersion, name string, objectName func(string) string) observe.Kind {
	return observe.Kind{
		Name:       name,
		GVK:        gv.WithKind(name),
		New:        func() observe.Object { return P(new(T)) },
		ObjectName: objectName,
	}
}

// ObservedKinds are the kinds of the table as the observer wants them.
func ObservedKinds() []observe.Kind {
	var kinds []observe.Kind
	for _, k := range Kinds() {
		kinds = append(kinds, k.Kind)
	}
	return kinds
}

// OwnedKinds has one kind of each name, for those who watch or cache them.
func OwnedKinds() []observe.Kind {
	var kinds []observe.Kind
	for _, k := range ObservedKinds() {
		if !slices.ContainsFunc(kinds, func(other observe.Kind) bool { return other.Name == k.Name }) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
