package desired

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/manifests"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/revision"
)

// stableConfigMap holds the configuration that pods boot from.
func stableConfigMap(in *input) (object, error) {
	if in.selection.Stable.Files == nil {
		return object{}, nil
	}
	cm, err := in.configMap(naming.ConfigMap(in.app.Name), revision.Configuration{Config: in.selection.Stable})
	if err != nil {
		return object{}, err
	}
	return object{cm, cm.ObjectMetaApplyConfiguration}, nil
}

// nextConfigMap holds the candidate, and why it was refused for good.
func nextConfigMap(in *input) (object, error) {
	cm, err := in.configMap(naming.ConfigMapNext(in.app.Name), in.selection.Next)
	if err != nil {
		return object{}, err
	}
	if in.selection.Trust != "" {
		cm.WithBinaryData(map[string][]byte{instanceapi.FileTrust: []byte(in.selection.Trust)})
	}
	if in.selection.Refusal != "" {
		cm.WithAnnotations(map[string]string{naming.AnnotationConfigRefused: in.selection.Refusal})
	}
	return object{cm, cm.ObjectMetaApplyConfiguration}, nil
}

func (in *input) configMap(name string, config revision.Configuration) (*corev1ac.ConfigMapApplyConfiguration, error) {
	cm, err := manifests.Decode[corev1ac.ConfigMapApplyConfiguration]("configmap.yaml")
	if err != nil {
		return nil, err
	}
	cm.ObjectMetaApplyConfiguration = in.meta(name).
		WithAnnotations(map[string]string{naming.AnnotationConfig: config.Revision})
	if config.Source != "" {
		cm.WithAnnotations(map[string]string{naming.AnnotationConfigSourceVersion: config.Source})
	}
	return cm.WithData(config.Files), nil
}
