package testenv

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// Object returns an NginxOperator of a version, with an empty spec.
func Object(version, namespace, name string) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if version == v1alpha1.GroupVersion.Version {
		return &v1alpha1.NginxOperator{ObjectMeta: meta}
	}
	return &v1alpha2.NginxOperator{ObjectMeta: meta}
}
