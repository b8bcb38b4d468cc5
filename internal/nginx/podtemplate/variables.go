package podtemplate

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/configenv"
	"example.com/nginx-operator/internal/nginx/naming"
)

// setVariables mounts the objects with values of the configuration's variables, and memory for the configurations that
// contain them: a node's disk must not hold what is in a Secret.
func (b *builder) setVariables(pod *corev1ac.PodSpecApplyConfiguration) {
	secret := false
	for _, o := range configenv.Objects(b.nginx.Spec.Config) {
		secret = secret || o.Kind == configenv.Secret
		name := naming.VariablesVolume(o.Dir())
		pod.WithVolumes(variablesVolume(o).WithName(name))
		pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName(name).
			WithMountPath(path.Join(instanceapi.DirVariables, o.Dir())).WithReadOnly(true))
	}
	if !secret {
		return
	}
	pod.WithVolumes(corev1ac.Volume().WithName(naming.VolumeState).
		WithEmptyDir(corev1ac.EmptyDirVolumeSource().
			WithMedium(corev1.StorageMediumMemory).
			WithSizeLimit(resource.MustParse("64Mi"))))
	pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().WithName(naming.VolumeState).WithMountPath(instanceapi.DirState))
}

// variablesVolume returns the volume of an object. It is optional: a missing value is reported by the instance manager,
// and does not hold the pods back.
func variablesVolume(o configenv.Object) *corev1ac.VolumeApplyConfiguration {
	var items []*corev1ac.KeyToPathApplyConfiguration
	for _, key := range o.Keys {
		items = append(items, corev1ac.KeyToPath().WithKey(key).WithPath(key))
	}
	if o.Kind == configenv.Secret {
		return corev1ac.Volume().WithSecret(corev1ac.SecretVolumeSource().WithSecretName(o.Object).WithOptional(true).WithItems(items...))
	}
	return corev1ac.Volume().WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(o.Object).WithOptional(true).WithItems(items...))
}

// variableFolders returns the folders whose changes reload nginx.
func (b *builder) variableFolders() []string {
	var dirs []string
	for _, o := range configenv.Objects(b.nginx.Spec.Config) {
		dirs = append(dirs, path.Join(instanceapi.DirVariables, o.Dir()))
	}
	return dirs
}
