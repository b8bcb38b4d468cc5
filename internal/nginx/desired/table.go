package desired

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// row is a kind of object that an application owns.
type row struct {
	owned.Kind
	// build returns the object as it should be.
	build func(in *input) (object, error)
	// needsConfig reports whether there is nothing to build without a configuration.
	needsConfig bool
}

// table lists everything that an application with a kind of workload owns, in the order in which it is applied. What is
// watched, cached, compared and pruned follows from it.
func table(workload string) []row {
	core, policy, networking := corev1.SchemeGroupVersion, policyv1.SchemeGroupVersion, networkingv1.SchemeGroupVersion
	rows := []row{
		{owned.NewKind[corev1.ServiceAccount](core, "ServiceAccount", naming.ServiceAccount), serviceAccount, false},
		// What unreachable pods may follow is in the candidate's. It must not be lost if only one of the two is written.
		{owned.NewKind[corev1.ConfigMap](core, "ConfigMap", naming.ConfigMapNext), nextConfigMap, true},
		{owned.NewKind[corev1.ConfigMap](core, "ConfigMap", naming.ConfigMap), stableConfigMap, true},
		{owned.NewKind[corev1.Service](core, "Service", naming.Service), service, false},
		workloads[workload],
		{owned.NewKind[policyv1.PodDisruptionBudget](policy, "PodDisruptionBudget", naming.PodDisruptionBudget), podDisruptionBudget, false},
		{owned.NewKind[networkingv1.NetworkPolicy](networking, "NetworkPolicy", applicationName), networkPolicy, false},
	}
	if workload == application.KindDeployment {
		rows = append(rows, row{owned.NewKind[networkingv1.Ingress](networking, "Ingress", applicationName), ingress, false})
	}
	for i := range rows {
		name := rows[i].Name
		rows[i].Requires, rows[i].ExclusivePaths, rows[i].Schema, rows[i].Trim = requires[name], exclusivePaths[name], schemas[name], trims[name]
		rows[i].Recreate = recreate[name]
	}
	return rows
}

// workloads are the kinds of workloads.
var workloads = map[string]row{
	application.KindDeployment:  {owned.NewKind[appsv1.Deployment](appsv1.SchemeGroupVersion, application.KindDeployment, naming.Workload), deployment, true},
	application.KindStatefulSet: {owned.NewKind[appsv1.StatefulSet](appsv1.SchemeGroupVersion, application.KindStatefulSet, naming.Workload), statefulSet, true},
}

// applicationName is the object name of a kind of which an application owns one.
func applicationName(application string) string { return application }

// requires are the kinds without which an object of a kind would do harm.
var requires = map[string][]string{
	"Deployment":  {"ServiceAccount", "ConfigMap", history.Kind},
	"StatefulSet": {"ServiceAccount", "ConfigMap", history.Kind},
}

// exclusivePaths are the fields to which no other client may add: nginx gets all files of a ConfigMap, and a
// PodDisruptionBudget must not set both minAvailable and maxUnavailable.
var exclusivePaths = map[string][]owned.ExclusivePath{
	"ConfigMap":           {{Path: []string{"data"}}, {Path: []string{"binaryData"}}},
	"Deployment":          hardening(),
	"StatefulSet":         hardening(),
	"PodDisruptionBudget": {{Path: []string{"spec"}}},
}

// hardening returns the fields of a workload that can give a pod more rights than its application needs.
func hardening() []owned.ExclusivePath {
	pod := func(path ...string) []string { return append([]string{"spec", "template", "spec"}, path...) }
	paths := []owned.ExclusivePath{
		{Path: pod(), Keys: []string{"hostPID", "hostIPC", "hostNetwork"}},
		{Path: pod("securityContext")},
	}
	for _, list := range []string{"initContainers", "containers"} {
		paths = append(paths,
			owned.ExclusivePath{Path: pod(list, owned.EachItem), Keys: []string{"args"}},
			owned.ExclusivePath{Path: pod(list, owned.EachItem, "securityContext")},
			owned.ExclusivePath{Path: pod(list, owned.EachItem, "securityContext", "capabilities")})
	}
	return paths
}

// schemas declare the atomic fields: selectors, those of a pod template, and the rules of a
// NetworkPolicy and an Ingress.
var schemas = map[string]*owned.Schema{
	"Service":             owned.NewSchema(owned.Atomic("spec", "selector")),
	"Deployment":          owned.NewSchema(owned.Atomic("spec", "selector"), owned.PodTemplate("spec", "template")),
	"StatefulSet":         owned.NewSchema(owned.Atomic("spec", "selector"), owned.Keyed([]string{"spec", "volumeClaimTemplates"}, "metadata", "name"), owned.PodTemplate("spec", "template")),
	"PodDisruptionBudget": owned.NewSchema(owned.Atomic("spec", "selector")),
	"NetworkPolicy":       owned.NewSchema(owned.Atomic("spec", "podSelector"), owned.Atomic("spec", "ingress")),
	"Ingress":             owned.NewSchema(owned.Atomic("spec", "rules"), owned.Atomic("spec", "tls")),
}

// recreate report for which fields an object has to be created again.
var recreate = map[string]func(want, live map[string]any, differing []string) bool{
	"Service":     recreatesService,
	"StatefulSet": recreatesStatefulSet,
}

// trims keep the managedFields that show which other managers own a Deployment's spec.replicas.
var trims = map[string]func(owned.Object){
	"Deployment": func(object owned.Object) {
		if d, ok := object.(*appsv1.Deployment); ok {
			observe.TrimManagedFields(d)
		}
	},
}

// Kinds returns the kinds of the table, a row for each object.
func Kinds(workload string) []owned.Kind {
	var kinds []owned.Kind
	for _, r := range table(workload) {
		kinds = append(kinds, r.Kind)
	}
	return kinds
}

// Kind returns a kind of the table by its name.
func Kind(workload, name string) owned.Kind {
	for _, kind := range Kinds(workload) {
		if kind.Name == name {
			return kind
		}
	}
	panic("desired: an application with a " + workload + " has no " + name)
}

// DistinctKinds returns each kind of the table once, for watches and caches.
func DistinctKinds(workload string) []owned.Kind {
	var kinds []owned.Kind
	for _, k := range Kinds(workload) {
		if !slices.ContainsFunc(kinds, func(other owned.Kind) bool { return other.Name == k.Name }) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
