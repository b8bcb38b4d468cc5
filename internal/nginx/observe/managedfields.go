package observe

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/nginx/naming"
)

// replicasField is how managedFields spell ownership of spec.replicas.
const replicasField = `"f:replicas":{}`

// ReplicasOwnedByOther reports whether another manager owns spec.replicas of a Deployment.
func ReplicasOwnedByOther(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.ManagedFields, foreignReplicas)
}

// TrimManagedFields removes from managedFields what ReplicasOwnedByOther does not read.
func TrimManagedFields(d *appsv1.Deployment) {
	d.ManagedFields = slices.DeleteFunc(d.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return !foreignReplicas(entry)
	})
	for i := range d.ManagedFields {
		d.ManagedFields[i].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{` + replicasField + `}}`)
	}
}

func foreignReplicas(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager != naming.FieldManager && entry.Subresource != "status" &&
		entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), replicasField)
}
