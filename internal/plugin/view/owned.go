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
	for i := range sets.Items {
		if metav1.IsControlledBy(&sets.Items[i], deployment) {
			found.uids = append(found.uids, sets.Items[i].UID)
		}
	}
	return found, nil
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
