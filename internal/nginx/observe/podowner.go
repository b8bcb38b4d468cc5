package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
)

// podOwner is what owns a pod that has the label of an application.
type podOwner string

const (
	// ownerApplication: the application owns the pod's workload.
	ownerApplication podOwner = "Application"
	// ownerForeign: something else owns the pod, or nothing.
	ownerForeign podOwner = "Foreign"
	// ownerUnknown: the owner is being replaced or has just been created, so the caches do not show it yet.
	ownerUnknown podOwner = "Unknown"
)

// podOwners finds out what owns pods. Names and labels prove nothing, because anyone in the namespace can choose them: a pod
// belongs to an application if the UIDs of its controllers lead to the owner of the application, by way of its kind of
// workload.
type podOwners struct {
	observer *Observer
	app      *application.Application
	// workload is the UID of the workload that the application owns; empty if there is none.
	workload types.UID
	// replicaSets are the controllers of the ReplicaSets that were looked up.
	replicaSets map[types.UID]podOwner
}

func (o *Observer) podOwners(app *application.Application, state *State) *podOwners {
	found := &podOwners{observer: o, app: app, replicaSets: map[types.UID]podOwner{}}
	if w := state.Workload(); w != nil && w.Kind == app.Workload() && metav1.IsControlledBy(w.Object, app) {
		found.workload = w.Object.GetUID()
	}
	return found
}

// of returns what owns a pod. A pod that was taken out of its workload for inspection is foreign.
func (p *podOwners) of(ctx context.Context, pod *corev1.Pod) (podOwner, error) {
	ref := metav1.GetControllerOf(pod)
	switch {
	case ref == nil || ref.APIVersion != appsv1.SchemeGroupVersion.String():
		return ownerForeign, nil
	case p.app.Workload() == application.KindStatefulSet:
		return p.isWorkload(ref), nil
	case ref.Kind != kindReplicaSet:
		return ownerForeign, nil
	}
	if known, ok := p.replicaSets[ref.UID]; ok {
		return known, nil
	}
	owner, err := p.ofReplicaSet(ctx, ref)
	if err == nil {
		p.replicaSets[ref.UID] = owner
	}
	return owner, err
}

// isWorkload compares a controller with the workload. One of its name that is another object was deleted, or is not in the
// caches yet.
func (p *podOwners) isWorkload(ref *metav1.OwnerReference) podOwner {
	switch {
	case ref.Kind != p.app.Workload():
		return ownerForeign
	case ref.UID == p.workload:
		return ownerApplication
	case ref.Name == naming.Workload(p.app.Name):
		return ownerUnknown
	}
	return ownerForeign
}

const kindReplicaSet = "ReplicaSet"

// ReplicaSets returns an empty ReplicaSet with metadata only. Their specs are not needed.
func ReplicaSets() *metav1.PartialObjectMetadata {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kindReplicaSet))
	return meta
}

func (p *podOwners) ofReplicaSet(ctx context.Context, ref *metav1.OwnerReference) (podOwner, error) {
	set := ReplicaSets()
	err := p.observer.cache.Get(ctx, types.NamespacedName{Namespace: p.app.Namespace, Name: ref.Name}, set)
	switch {
	case apierrors.IsNotFound(err) || err == nil && set.UID != ref.UID:
		return ownerUnknown, nil
	case err != nil:
		return "", fmt.Errorf("read ReplicaSet %s: %w", ref.Name, err)
	}
	controller := metav1.GetControllerOf(set)
	if controller == nil {
		return ownerUnknown, nil
	}
	return p.isWorkload(controller), nil
}
