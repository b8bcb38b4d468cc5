package desired

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
	"example.com/nginx-operator/internal/observe"
)

// stable is the configuration that pods start with: the requested one when every pod
// has served it, and otherwise what the operator has written there. Where somebody has deleted that, it is the last good
// one; where somebody has changed it and nobody knows what it was, it is what is there. It has no files when there is
// none.
func (in *input) stable() nginxconf.Config {
	live := in.state.Config(naming.ConfigMap(in.nginx.Name))
	if in.decision.Stable {
		return in.requested.Config
	}
	if live == nil {
		return in.lastGood()
	}
	written := live.Annotations[naming.AnnotationConfig]
	if files := in.written(live); files != nil {
		return nginxconf.Config{Files: files, Revision: written}
	}
	return nginxconf.Config{Files: maps.Clone(nginxconf.Files(live.Data)), Revision: written}
}

// stableRevision is what pods start with; empty when there is nothing, or when somebody
// has changed it and it cannot be written again.
func (in *input) stableRevision() string {
	live := in.state.Config(naming.ConfigMap(in.nginx.Name))
	if live == nil {
		return in.lastGood().Revision
	}
	if in.written(live) == nil {
		return ""
	}
	return live.Annotations[naming.AnnotationConfig]
}

// lastGood is the configuration of the last good revision; it has no files when there is none.
func (in *input) lastGood() nginxconf.Config {
	last := in.state.History.LastGood("")
	if last == nil || in.state.RecordedFiles[last.Name] == nil {
		return nginxconf.Config{}
	}
	return nginxconf.Config{Files: in.state.RecordedFiles[last.Name], Revision: last.Config}
}

// written are the files that the operator wrote to a ConfigMap, whatever somebody has made of them; nil: they are not
// known any more.
func (in *input) written(live *corev1.ConfigMap) nginxconf.Files {
	revision := live.Annotations[naming.AnnotationConfig]
	switch {
	case revision == in.requested.Revision:
		return in.requested.Files
	case observe.Rendered(live):
		return live.Data
	}
	for i := range in.state.History {
		// Somebody may have changed the history as well.
		if files := in.state.RecordedFiles[in.state.History[i].Name]; files != nil && nginxconf.Revision(files) == revision {
			return files
		}
	}
	return nil
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

// nextConfigMap holds the candidate, and whether it was refused for good.
func nextConfigMap(in *input) (object, error) {
	next := in.next()
	cm, err := in.configMap(naming.ConfigMapNext(in.nginx.Name), next)
	if err != nil || !in.decision.Fatal || next.Revision != in.requested.Revision {
		return cm, err
	}
	text, err := refusal{next.Revision, in.course.run.hash, in.decision.Problems}.encode()
	if err != nil {
		return object{}, err
	}
	cm.meta.WithAnnotations(map[string]string{naming.AnnotationConfigRefused: text})
	return cm, nil
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
