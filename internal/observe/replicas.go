package observe

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/naming"
)

// replicasField is how managedFields spell ownership of spec.replicas.
const replicasField = `"f:replicas":{}`

// OthersOwnReplicas tells whether somebody else than the operator owns
// spec.replicas of a Deployment.
func OthersOwnReplicas(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.ManagedFields, foreignReplicas)
}

// TrimManagedFields keeps of managedFields what OthersOwnReplicas looks at.
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
