package desired

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/naming"
)

// configMap holds one revision of the rendered configuration, which the pods mount.
// Each revision has a ConfigMap of its own that never changes: a container that
// restarts finds what its pod was made with, whatever has been asked for since.
func configMap(in *input) (object, error) {
	cm, err := decode[corev1ac.ConfigMapApplyConfiguration]("configmap.yaml")
	if err != nil {
		return object{}, err
	}
	cm.ObjectMetaApplyConfiguration = in.meta(naming.ConfigMap(in.nginx.Name, in.config.Revision)).
		WithAnnotations(map[string]string{naming.AnnotationConfig: in.config.Revision})
	if in.config.source != "" {
		cm.WithAnnotations(map[string]string{naming.AnnotationConfigSource: in.config.source})
	}
	return object{cm.WithData(in.config.Files), cm.ObjectMetaApplyConfiguration}, nil
}

// outdatedConfigMaps are the names of the revisions that no pod needs any more. While
// a rollout is under way every revision may still be needed, by pods and by the
// ReplicaSets that replace them.
func (in *input) outdatedConfigMaps() []string {
	d := in.state.Deployment()
	if d == nil || d.Status.ObservedGeneration < d.Generation ||
		d.Status.UpdatedReplicas != ptr.Deref(d.Spec.Replicas, 1) || d.Status.Replicas != d.Status.UpdatedReplicas {
		return nil
	}
	needed := map[string]bool{
		in.config.Revision: true,
		d.Spec.Template.Annotations[naming.AnnotationConfig]: true,
	}
	for _, pod := range in.state.Pods {
		needed[pod.Annotations[naming.AnnotationConfig]] = true
	}
	var names []string
	for _, cm := range in.state.ConfigMaps() {
		if !needed[cm.Annotations[naming.AnnotationConfig]] {
			names = append(names, cm.Name)
		}
	}
	return names
}
