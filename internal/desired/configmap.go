package desired

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
)

// stable is the configuration that pods start with: the requested one when every pod
// has served it, and otherwise what is there. It is nil when there is none.
func (in *input) stable() nginxconf.Files {
	if live := in.state.Config(naming.ConfigMap(in.nginx.Name)); live != nil && len(live.Data) > 0 && !in.decision.Stable {
		return live.Data
	}
	return in.requested.Files
}

// next is the candidate: what is requested, and what is stable when nothing is.
func (in *input) next() resolved {
	if in.requested.Revision != "" {
		return in.requested
	}
	return resolved{Config: nginxconf.Config{Files: in.stable()}}
}

// stableConfigMap holds the configuration that pods start with.
func stableConfigMap(in *input) (object, error) {
	return in.configMap(naming.ConfigMap(in.nginx.Name), resolved{Config: nginxconf.Config{Files: in.stable()}})
}

// nextConfigMap holds the candidate.
func nextConfigMap(in *input) (object, error) {
	return in.configMap(naming.ConfigMapNext(in.nginx.Name), in.next())
}

func (in *input) configMap(name string, config resolved) (object, error) {
	cm, err := decode[corev1ac.ConfigMapApplyConfiguration]("configmap.yaml")
	if err != nil {
		return object{}, err
	}
	cm.ObjectMetaApplyConfiguration = in.meta(name).
		WithAnnotations(map[string]string{naming.AnnotationConfig: nginxconf.Revision(config.Files)})
	if config.source != "" {
		cm.WithAnnotations(map[string]string{naming.AnnotationConfigSource: config.source})
	}
	return object{cm.WithData(config.Files), cm.ObjectMetaApplyConfiguration}, nil
}
