package desired

import (
	"maps"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
)

// stable is the configuration that pods start with: the requested one when every pod
// has served it, and otherwise what is there. Its revision is what the operator wrote
// there, whatever somebody has made of it; it has no files when there is none.
func (in *input) stable() nginxconf.Config {
	live := in.state.Config(naming.ConfigMap(in.nginx.Name))
	if in.decision.Stable || live != nil && live.Annotations[naming.AnnotationConfig] == in.requested.Revision {
		return in.requested.Config
	}
	if live == nil {
		return nginxconf.Config{}
	}
	files := nginxconf.Files{}
	maps.Copy(files, live.Data)
	return nginxconf.Config{Files: files, Revision: live.Annotations[naming.AnnotationConfig]}
}

// stableRevision is what pods start with; empty when there is nothing, or when somebody
// has changed it and it is not what is requested, from which it could be written again.
func (in *input) stableRevision() string {
	live := in.state.Config(naming.ConfigMap(in.nginx.Name))
	if live == nil {
		return ""
	}
	written := live.Annotations[naming.AnnotationConfig]
	if written == in.requested.Revision || observe.Rendered(live) {
		return written
	}
	return ""
}

// next is the candidate: what is requested, and what is stable when nothing is.
func (in *input) next() resolved {
	if in.requested.Revision != "" {
		return in.requested
	}
	return resolved{Config: in.stable()}
}

// stableConfigMap holds the configuration that pods start with.
func stableConfigMap(in *input) (object, error) {
	stable := in.stable()
	if stable.Files == nil {
		return object{}, nil
	}
	return in.configMap(naming.ConfigMap(in.nginx.Name), resolved{Config: stable})
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
		WithAnnotations(map[string]string{naming.AnnotationConfig: config.Revision})
	if config.source != "" {
		cm.WithAnnotations(map[string]string{naming.AnnotationConfigSource: config.source})
	}
	return object{cm.WithData(config.Files), cm.ObjectMetaApplyConfiguration}, nil
}
