package importer

import (
	"errors"
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// copyVolumes copies the volumes that an application can have. Those that nothing mounts are removed later.
func (w *workload) copyVolumes() {
	for i, v := range w.pod.Volumes {
		at := fmt.Sprintf("%s.volumes[%d]", w.podPath, i)
		from, into := fields(v), v1alpha2.Volume{}
		if err := w.copyVolume(v, from, &into); err != nil {
			w.take(at, NotCarried, err.Error())
			continue
		}
		into.Name = v.Name
		if naming.ReservedVolume(v.Name) || v.Name == naming.VolumeRequestLog || v.Name == filesVolume {
			into.Name = "own-" + v.Name
		}
		w.volumes[v.Name] = into.Name
		w.app.Spec.PodTemplate.Volumes = append(w.app.Spec.PodTemplate.Volumes, into)
		w.take(at, Carried, "")
	}
}

func (w *workload) copyVolume(v corev1.Volume, from map[string]any, into *v1alpha2.Volume) error {
	for _, name := range []string{"configMap", "secret", "persistentVolumeClaim", "emptyDir", "csi", "image"} {
		if from[name] != nil {
			return copyField(from, name, into)
		}
	}
	switch {
	case v.HostPath != nil:
		return errors.New(restricted + ": it allows no hostPath; use a persistentVolumeClaim")
	case v.Projected != nil || v.DownwardAPI != nil:
		return errors.New("an application has no projected or downwardAPI volumes: use configMap or secret")
	}
	return errors.New("an application has no volumes of this kind: use a persistentVolumeClaim")
}

// mount copies a mount of a volume. It returns false if the volume is not carried over.
func (w *workload) mount(at string, m corev1.VolumeMount) (v1alpha2.VolumeMount, bool) {
	name, known := w.volumes[m.Name]
	if !known {
		w.take(at, NotCarried, "its volume "+m.Name+" is not carried over")
		return v1alpha2.VolumeMount{}, false
	}
	mount := v1alpha2.VolumeMount{Name: name, MountPath: path.Clean(m.MountPath)}
	w.take(at, Carried, "")
	if m.ReadOnly {
		mount.ReadOnly = &m.ReadOnly
	}
	if m.SubPath != "" {
		mount.SubPath = &m.SubPath
	}
	for name, set := range map[string]bool{"mountPropagation": m.MountPropagation != nil, "subPathExpr": m.SubPathExpr != "", "recursiveReadOnly": m.RecursiveReadOnly != nil} {
		if set {
			w.take(at+"."+name, NotCarried, "a mount of an application has no such field")
		}
	}
	return mount, true
}

// volume returns the volume of a mount, or nil.
func (w *workload) volume(name string) *corev1.Volume {
	for i := range w.pod.Volumes {
		if w.pod.Volumes[i].Name == name {
			return &w.pod.Volumes[i]
		}
	}
	return nil
}

// dropUnused removes the volumes that no container mounts: their files are a part of the application, or have no use.
func (w *workload) dropUnused(more []v1alpha2.VolumeMount) {
	t := w.app.Spec.PodTemplate
	used := map[string]bool{}
	for _, m := range append(slices.Clone(t.VolumeMounts), more...) {
		used[m.Name] = true
	}
	for _, c := range append(slices.Clone(w.pod.InitContainers), w.pod.Containers...) {
		if c.Name == w.pod.Containers[w.nginx].Name {
			continue
		}
		for _, m := range c.VolumeMounts {
			used[w.volumes[m.Name]] = true
		}
	}
	t.Volumes = slices.DeleteFunc(t.Volumes, func(v v1alpha2.Volume) bool { return !used[v.Name] })
}
