package desired

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/naming"
)

// configMap holds the rendered configuration, which the pods mount.
func configMap(in *input) (object, error) {
	cm, err := decode[corev1ac.ConfigMapApplyConfiguration]("configmap.yaml")
	if err != nil {
		return object{}, err
	}
	cm.ObjectMetaApplyConfiguration = in.meta(naming.ConfigMap(in.nginx.Name)).
		WithAnnotations(map[string]string{naming.AnnotationConfig: in.config.Revision})
	if in.config.source != "" {
		cm.WithAnnotations(map[string]string{naming.AnnotationConfigSource: in.config.source})
	}
	return object{cm.WithData(in.config.Files), cm.ObjectMetaApplyConfiguration}, nil
}
