package status

import (
	"example.com/nginx-operator/api/v1alpha2"
	v1alpha2ac "example.com/nginx-operator/api/v1alpha2/applyconfiguration/api/v1alpha2"
)

// ApplyConfiguration returns the status of nginx as the operator writes it: only to the object that it was computed
// for.
func ApplyConfiguration(nginx *v1alpha2.NginxOperator, status *v1alpha2ac.NginxOperatorStatusApplyConfiguration) *v1alpha2ac.NginxOperatorApplyConfiguration {
	applied := v1alpha2ac.NginxOperator(nginx.Name, nginx.Namespace).WithStatus(status)
	applied.UID = new(nginx.UID)
	return applied
}
