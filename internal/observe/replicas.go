package observe

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"example.com/nginx-operator/internal/naming"
)

// replicasField is how managedFields spell ownership of spec.replicas.
const replicasField = `"f:replicas":{}`

// OthersOwnReplicas tells whether somebody else than the operator owns
// spec.replicas of a Deployment.
func OthersOwnReplicas(d *appsv1.Deployment) bool {
	for _, entry := range d.ManagedFields {
		if entry.Manager != naming.FieldManager && entry.FieldsV1 != nil &&
			entry.Subresource != "status" && strings.Contains(entry.FieldsV1.GetRawString(), replicasField) {
			return true
		}
	}
	return false
}
