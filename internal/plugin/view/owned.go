package view

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// replicaSets decides which pods belong to an application. Labels prove nothing: anyone in the namespace can choose them.
type replicaSets struct {
	workload string
	// uids are those of the ReplicaSets that belong to the application.
	uids []types.UID
	// unknown reports whether the user may not read them. Their names have to do then.
	unknown bool
}

func readReplicaSets(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (replicaSets, error) {
	found := replicaSets{workload: naming.Workload(nginx.Name)}
	deployment, sets := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadataList{}
	deployment.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	sets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	err := c.Get(ctx, client.ObjectKey{Namespace: nginx.Namespace, Name: found.workload}, deployment)
	if err == nil {
		err = c.List(ctx, sets, client.InNamespace(nginx.Namespace), client.MatchingLabels(naming.SelectorLabels(nginx.Name)))
	}
	switch {
	case apierrors.IsForbidden(err):
		found.unknown = true
		return found, nil
	case apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(deployment, nginx):
		return found, nil
	case err != nil:
		return found, err
	}
	found.uids = controlledBy(deployment, sets.Items)
	return found, nil
}

// controlledBy returns the UIDs of the ReplicaSets that a Deployment controls.
func controlledBy(deployment *metav1.PartialObjectMetadata, sets []metav1.PartialObjectMetadata) (uids []types.UID) {
	for i := range sets {
		if metav1.IsControlledBy(&sets[i], deployment) {
			uids = append(uids, sets[i].UID)
		}
	}
	return uids
}

// ReadPodsOfAll returns the pods of applications, which are in a namespace, or anywhere if it is empty.
func ReadPodsOfAll(ctx context.Context, c client.Client, namespace string, applications []v1alpha2.NginxOperator) ([]corev1.Pod, error) {
	pods, deployments, sets := &corev1.PodList{}, &metav1.PartialObjectMetadataList{}, &metav1.PartialObjectMetadataList{}
	deployments.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DeploymentList"))
	sets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	options := []client.ListOption{client.InNamespace(namespace), client.HasLabels{v1alpha2.LabelNginxOperator}}
	if err := c.List(ctx, pods, options...); err != nil {
		return nil, err
	}
	err := c.List(ctx, deployments, options...)
	if err == nil {
		err = c.List(ctx, sets, options...)
	}
	unknown := apierrors.IsForbidden(err)
	if err != nil && !unknown {
		return nil, err
	}
	owners := replicaSetsOf(applications, deployments.Items, sets.Items, unknown)
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		sets := owners[applicationOf(&p)]
		return sets == nil || !sets.owns(&p)
	}), nil
}

// replicaSetsOf returns what decides which pods belong to each application.
func replicaSetsOf(applications []v1alpha2.NginxOperator, deployments, sets []metav1.PartialObjectMetadata, unknown bool) map[types.NamespacedName]*replicaSets {
	owners := map[types.NamespacedName]*replicaSets{}
	for i := range applications {
		owners[client.ObjectKeyFromObject(&applications[i])] = &replicaSets{workload: naming.Workload(applications[i].Name), unknown: unknown}
	}
	setsOf := map[types.NamespacedName][]metav1.PartialObjectMetadata{}
	for _, set := range sets {
		setsOf[applicationOf(&set)] = append(setsOf[applicationOf(&set)], set)
	}
	for i := range applications {
		key := client.ObjectKeyFromObject(&applications[i])
		at := slices.IndexFunc(deployments, func(d metav1.PartialObjectMetadata) bool {
			return d.Namespace == key.Namespace && d.Name == owners[key].workload && metav1.IsControlledBy(&d, &applications[i])
		})
		if at >= 0 {
			owners[key].uids = controlledBy(&deployments[at], setsOf[key])
		}
	}
	return owners
}

// applicationOf returns the application that the label of an object names.
func applicationOf(object client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[v1alpha2.LabelNginxOperator]}
}

// owns reports whether a pod belongs to the application.
func (r replicaSets) owns(pod *corev1.Pod) bool {
	ref := metav1.GetControllerOf(pod)
	if ref == nil || ref.APIVersion != appsv1.SchemeGroupVersion.String() || ref.Kind != "ReplicaSet" {
		return false
	}
	if r.unknown {
		return strings.HasPrefix(ref.Name, r.workload+"-")
	}
	return slices.Contains(r.uids, ref.UID)
}
