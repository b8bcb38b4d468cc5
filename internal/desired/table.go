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
	// Alone are the places where nobody else may add anything.
	Alone []Place
}

// Place is a map in an object.
type Place struct {
	// Path leads to it. EachOfOurs stands for each item of a list that the operator has there.
	Path []string
	// Keys are those that nobody else may add; none: all.
	Keys []string
}

// EachOfOurs is a step of the path of a Place.
const EachOfOurs = "*"

var narrow = hardening()

// hardening are the places in a Deployment by which a pod may get more than its application needs. Pods that are made
// otherwise are somebody else's.
func hardening() []Place {
	pod := func(path ...string) []string { return append([]string{"spec", "template", "spec"}, path...) }
	places := []Place{
		{Path: pod(), Keys: []string{"hostPID", "hostIPC", "hostNetwork"}},
		{Path: pod("securityContext")},
	}
	for _, list := range []string{"initContainers", "containers"} {
		places = append(places,
			Place{Path: pod(list, EachOfOurs), Keys: []string{"args"}},
			Place{Path: pod(list, EachOfOurs, "securityContext")},
			Place{Path: pod(list, EachOfOurs, "securityContext", "capabilities")})
	}
	return places
}

// HistoryKind is the kind that holds the history. It is not in the table: there are many
// of it, and each tells of a time that is over.
const HistoryKind = "ControllerRevision"

// Kinds is the table of everything that an application owns. It drives what is
// built and in which order, watched and pruned.
func Kinds() []Kind {
	core, apps, policy := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, policyv1.SchemeGroupVersion
	// nginx is given all that is in a ConfigMap. A budget that says two things is none.
	files, budget := []Place{{Path: []string{"data"}}, {Path: []string{"binaryData"}}}, []Place{{Path: []string{"spec"}}}
	return []Kind{
		{Kind: kindOf[corev1.ServiceAccount](core, "ServiceAccount", naming.ServiceAccount), build: serviceAccount},
		{Kind: kindOf[corev1.ConfigMap](core, "ConfigMap", naming.ConfigMap), build: stableConfigMap, needsConfig: true, Alone: files},
		{Kind: kindOf[corev1.ConfigMap](core, "ConfigMap", naming.ConfigMapNext), build: nextConfigMap, needsConfig: true, Alone: files},
		{Kind: kindOf[corev1.Service](core, "Service", naming.Service), build: service},
		{
			Kind: kindOf[appsv1.Deployment](apps, "Deployment", naming.Deployment), build: deployment, needsConfig: true,
			Requires: []string{"ServiceAccount", "ConfigMap", HistoryKind}, Alone: narrow,
		},
		{Kind: kindOf[policyv1.PodDisruptionBudget](policy, "PodDisruptionBudget", naming.PodDisruptionBudget), build: podDisruptionBudget, Alone: budget},
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
