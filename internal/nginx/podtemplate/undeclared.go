package podtemplate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// InvalidVolumes returns why the pods of a template must not be built: it uses a volume that it does not declare, which
// may be one of the operator's, or declares one with a name of the operator. Empty: they may. The schema refuses such a
// template, but not every stored spec has been validated by this release.
func InvalidVolumes(template *v1alpha2.PodTemplate) string {
	_, found := WithoutUndeclared(template)
	if len(found) == 0 {
		return ""
	}
	return found[0] + ": a pod can use the volumes of spec.podTemplate.volumes only, and none of the operator's. Declare the volume there, under a name that is not reserved, or remove this use of it"
}

// WithoutUndeclared returns a template without what uses volumes that it does not declare, and without volumes with a name of
// the operator. It also returns the fields that it removed. claims are volumes that are declared elsewhere.
func WithoutUndeclared(template *v1alpha2.PodTemplate, claims ...string) (*v1alpha2.PodTemplate, []string) {
	if template == nil {
		return nil, nil
	}
	kept := template.DeepCopy()
	d := declaredVolumes{names: slices.Clone(claims)}
	kept.Volumes = slices.DeleteFunc(kept.Volumes, d.reserved)
	for _, v := range kept.Volumes {
		d.names = append(d.names, v.Name)
	}
	kept.VolumeMounts = d.mounts("spec.podTemplate", kept.VolumeMounts)
	kept.Env = d.variables("spec.podTemplate", kept.Env)
	for field, containers := range map[string][]v1alpha2.Container{"initContainers": kept.InitContainers, "containers": kept.Containers} {
		for i := range containers {
			c := &containers[i]
			at := fmt.Sprintf("spec.podTemplate.%s[%s]", field, c.Name)
			c.VolumeMounts = d.mounts(at, c.VolumeMounts)
			c.Env = d.variables(at, c.Env)
		}
	}
	if len(d.removed) == 0 {
		return template, nil
	}
	slices.Sort(d.removed)
	return kept, d.removed
}

// declaredVolumes are the volumes that a template may use, and the uses of others that were removed.
type declaredVolumes struct {
	names, removed []string
}

func (d *declaredVolumes) reserved(v v1alpha2.Volume) bool {
	if naming.ReservedVolume(v.Name) {
		d.removed = append(d.removed, fmt.Sprintf("spec.podTemplate.volumes[%s] has a name of the operator", v.Name))
		return true
	}
	return false
}

func (d *declaredVolumes) mounts(at string, mounts []v1alpha2.VolumeMount) []v1alpha2.VolumeMount {
	return slices.DeleteFunc(mounts, func(m v1alpha2.VolumeMount) bool {
		return d.undeclared(fmt.Sprintf("%s.volumeMounts[%s]", at, m.MountPath), m.Name)
	})
}

// variables removes the variables that the kubelet reads from a file on a volume.
func (d *declaredVolumes) variables(at string, env []corev1.EnvVar) []corev1.EnvVar {
	return slices.DeleteFunc(env, func(e corev1.EnvVar) bool {
		return e.ValueFrom != nil && e.ValueFrom.FileKeyRef != nil && d.undeclared(fmt.Sprintf("%s.env[%s].valueFrom.fileKeyRef", at, e.Name), e.ValueFrom.FileKeyRef.VolumeName)
	})
}

func (d *declaredVolumes) undeclared(at, volume string) bool {
	if slices.Contains(d.names, volume) {
		return false
	}
	d.removed = append(d.removed, fmt.Sprintf("%s names the volume %s, which spec.podTemplate.volumes does not declare", at, volume))
	return true
}
