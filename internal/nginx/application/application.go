// Package application describes what a pass runs: an nginx application, the object that declares it, and the workload
// that runs its pods.
package application

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// The kinds of workloads.
const (
	KindDeployment  = "Deployment"
	KindStatefulSet = "StatefulSet"
)

// Application is an nginx application as the stages of a pass see it.
type Application struct {
	// NginxOperator declares it, with its last status. The names of its objects derive from its name. Its UID and its
	// generation are those of the owner.
	*v1alpha2.NginxOperator
	// Owner declares the application, and owns its objects.
	Owner Owner
	// Waits is why no rollout may begin now, such as "the shards are not up to date"; empty: it may.
	Waits string
	// Invalid is why the spec must not be carried out, so that the pods keep what they have; empty: it may.
	Invalid string
	// Stateful is set if the pods have names and storage of their own, and nil if they are interchangeable.
	Stateful *Stateful
}

// Owner identifies the object that declares an application.
type Owner struct {
	GVK  schema.GroupVersionKind
	Name string
	UID  types.UID
}

// Reference returns an owner reference to it.
func (o Owner) Reference() *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(o.GVK.GroupVersion().String()).
		WithKind(o.GVK.Kind).
		WithName(o.Name).
		WithUID(o.UID).
		WithController(true)
}

// Stateful is what distinguishes a StatefulSet of nginx pods from a Deployment of them.
type Stateful struct {
	// Headless reports whether the Service has no address of its own, but the pods' addresses and a name for each.
	Headless bool
	// PodServices gives each pod a Service of its own, whose address stays the same when the pod is replaced.
	PodServices bool
	// Claims are the volumes of each pod. They are mounted by spec.podTemplate.volumeMounts.
	Claims []*corev1ac.PersistentVolumeClaimApplyConfiguration
	// DeleteClaimsWhenScaled and DeleteClaimsWhenDeleted report whether a volume is deleted with its pod when the number
	// of pods is reduced, and when the application is deleted.
	DeleteClaimsWhenScaled, DeleteClaimsWhenDeleted bool
}

// Of returns the application of an NginxOperator.
func Of(nginx *v1alpha2.NginxOperator) *Application {
	return &Application{
		NginxOperator: nginx,
		Owner:         Owner{v1alpha2.GroupVersion.WithKind(v1alpha2.Kind), nginx.Name, nginx.UID},
		Invalid:       podtemplate.InvalidVolumes(nginx.Spec.PodTemplate),
	}
}

// Key returns the namespace and the name of the application.
func (a *Application) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}

// Workload returns the kind of the object that runs the application's pods.
func (a *Application) Workload() string {
	if a.Stateful != nil {
		return KindStatefulSet
	}
	return KindDeployment
}
