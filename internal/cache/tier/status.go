package tier

import (
	"reflect"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// Status returns the status of a tier, without its pods.
func Status(of *v1alpha2.NginxOperatorStatus) *v1alpha1.TierStatus {
	status := &v1alpha1.TierStatus{}
	copyFields(status, of)
	return status
}

// Previous returns the last status of a tier as that of its application. The events of a pass are about what has changed
// since.
func Previous(status *v1alpha1.TierStatus) v1alpha2.NginxOperatorStatus {
	var of v1alpha2.NginxOperatorStatus
	copyFields(&of, status)
	return of
}

// copyFields copies the fields that two structs have in common, by their names.
func copyFields(to, from any) {
	source, target := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for i := range target.NumField() {
		if field := source.FieldByName(target.Type().Field(i).Name); field.IsValid() {
			target.Field(i).Set(field)
		}
	}
}
