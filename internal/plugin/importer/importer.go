// Package importer turns an existing set-up of nginx into NginxOperators: a configuration with its includes, a Deployment
// with its ConfigMaps and Services, or Ingress objects of ingress-nginx.
//
// It reviews every directive, annotation and field of its input: each is carried over, changed, or named with the
// reason why it is not carried over. A configuration stays as its author wrote it. What has to change is replaced in
// place, so comments and line numbers stay. Private keys are never read.
package importer

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// Options are what the user decides.
type Options struct {
	// Name and Namespace are those of the application. Without a name, it is derived from the input.
	Name, Namespace string
	// Class is the class of the Ingress objects to import. Without it, it is that of ingress-nginx.
	Class string
}

// Result is what an import makes of its input.
type Result struct {
	Applications []*v1alpha2.NginxOperator
	ConfigMaps   []*corev1.ConfigMap
	Review       Review
}
