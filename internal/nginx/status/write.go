package status

import (
	"encoding/json"

	"example.com/nginx-operator/api/v1alpha2"
	v1alpha2ac "example.com/nginx-operator/api/v1alpha2/applyconfiguration/api/v1alpha2"
)

// ApplyConfiguration returns the status of nginx as the operator writes it: only to the object that it was computed
// for.
func ApplyConfiguration(nginx *v1alpha2.NginxOperator, status v1alpha2.NginxOperatorStatus) (*v1alpha2ac.NginxOperatorApplyConfiguration, error) {
	text, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	config := v1alpha2ac.NginxOperatorStatus()
	if err := json.Unmarshal(text, config); err != nil {
		return nil, err
	}
	applied := v1alpha2ac.NginxOperator(nginx.Name, nginx.Namespace).WithStatus(config)
	applied.UID = new(nginx.UID)
	return applied, nil
}
