package restoration

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// refer updates the references of a spec to the names under which objects are restored.
func (m *builder) refer(spec *v1alpha2.NginxOperatorSpec) {
	for _, name := range configMapsOf(spec) {
		if other, changed := m.references[*name]; changed {
			*name = other
		}
	}
	for _, name := range claimsOf(spec) {
		*name = m.claim(*name)
	}
}

// configMapsOf returns all references of a spec to ConfigMaps.
func configMapsOf(spec *v1alpha2.NginxOperatorSpec) []*string {
	var names []*string
	if spec.Config != nil {
		names = inConfig(spec.Config)
	}
	for i := range spec.Content {
		if cm := spec.Content[i].ConfigMap; cm != nil {
			names = append(names, &cm.Name)
		}
	}
	if t := spec.PodTemplate; t != nil {
		for i := range t.Volumes {
			if cm := t.Volumes[i].ConfigMap; cm != nil {
				names = append(names, &cm.Name)
			}
		}
		names = append(names, inEnvironment(t)...)
	}
	return names
}

// inConfig returns the references of a configuration to ConfigMaps.
func inConfig(config *v1alpha2.Config) []*string {
	var names []*string
	if config.ConfigMap != nil {
		names = append(names, &config.ConfigMap.Name)
	}
	for i := range config.Env {
		if from := config.Env[i].ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			names = append(names, &from.ConfigMapKeyRef.Name)
		}
	}
	for i := range config.EnvFrom {
		if cm := config.EnvFrom[i].ConfigMapRef; cm != nil {
			names = append(names, &cm.Name)
		}
	}
	return names
}

// inEnvironment returns the references of environment variables to ConfigMaps.
func inEnvironment(t *v1alpha2.PodTemplate) []*string {
	environments := [][]corev1.EnvVar{t.Env}
	for _, c := range slices.Concat(t.InitContainers, t.Containers) {
		environments = append(environments, c.Env)
	}
	sources := [][]corev1.EnvFromSource{t.EnvFrom}
	for _, c := range slices.Concat(t.InitContainers, t.Containers) {
		sources = append(sources, c.EnvFrom)
	}
	var names []*string
	for _, from := range sources {
		for i := range from {
			if from[i].ConfigMapRef != nil {
				names = append(names, &from[i].ConfigMapRef.Name)
			}
		}
	}
	for _, env := range environments {
		for i := range env {
			if from := env[i].ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
				names = append(names, &from.ConfigMapKeyRef.Name)
			}
		}
	}
	return names
}

// claimsOf returns all references of a spec to claims.
func claimsOf(spec *v1alpha2.NginxOperatorSpec) []*string {
	var names []*string
	for i := range spec.Content {
		if claim := spec.Content[i].PersistentVolumeClaim; claim != nil {
			names = append(names, &claim.ClaimName)
		}
	}
	if spec.PodTemplate != nil {
		for i := range spec.PodTemplate.Volumes {
			if claim := spec.PodTemplate.Volumes[i].PersistentVolumeClaim; claim != nil {
				names = append(names, &claim.ClaimName)
			}
		}
	}
	return names
}
