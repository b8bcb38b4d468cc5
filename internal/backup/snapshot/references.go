package snapshot

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/configenv"
)

// Volume is a PersistentVolumeClaim that an application mounts.
type Volume struct {
	Claim string `json:"claim"`
	// MountPath is where nginx mounts it, or empty if only other containers do.
	MountPath string `json:"mountPath"`
}

// Secret is a Secret that an application uses.
type Secret struct {
	Name string `json:"name"`
	// UsedFor is the use of the Secret, such as "tls shop".
	UsedFor string `json:"usedFor"`
	// Certificate reports whether the Secret holds a certificate, as tls.crt.
	Certificate bool `json:"certificate,omitempty"`
}

// ConfigMaps returns the sorted names of the ConfigMaps that an application refers to, each once.
func ConfigMaps(spec *v1alpha2.NginxOperatorSpec) []string {
	names := map[string]bool{}
	if spec.Config != nil && spec.Config.ConfigMap != nil {
		names[spec.Config.ConfigMap.Name] = true
	}
	for _, c := range spec.Content {
		if c.ConfigMap != nil {
			names[c.ConfigMap.Name] = true
		}
	}
	for _, o := range configenv.Objects(spec.Config) {
		if o.Kind == configenv.ConfigMap {
			names[o.Object] = true
		}
	}
	if spec.PodTemplate != nil {
		configMapsOfPods(spec.PodTemplate, names)
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return !possible(name) })
	return slices.Sorted(maps.Keys(names))
}

// configMapsOfPods adds the names of the ConfigMaps that a pod template refers to.
func configMapsOfPods(template *v1alpha2.PodTemplate, names map[string]bool) {
	for _, v := range template.Volumes {
		if v.ConfigMap != nil {
			names[v.ConfigMap.Name] = true
		}
	}
	for _, e := range environment(template) {
		if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
			names[e.ValueFrom.ConfigMapKeyRef.Name] = true
		}
	}
	for _, e := range allEnvironment(template) {
		if e.ConfigMapRef != nil {
			names[e.ConfigMapRef.Name] = true
		}
	}
}

// possible reports whether an object can have a name. The API does not validate the names in
// variables and volumes. One of them could be a path to another folder, in which the Secret would
// be mounted into the pod of a job.
func possible(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// Volumes returns the claims that the pods of an application mount, in the order of the spec, those with content first.
// A claim that is mounted twice is returned once.
func Volumes(spec *v1alpha2.NginxOperatorSpec) []Volume {
	var volumes []Volume
	add := func(claim, mountPath string) {
		if possible(claim) && !slices.ContainsFunc(volumes, func(v Volume) bool { return v.Claim == claim }) {
			volumes = append(volumes, Volume{Claim: claim, MountPath: mountPath})
		}
	}
	for _, c := range spec.Content {
		if c.PersistentVolumeClaim != nil {
			add(c.PersistentVolumeClaim.ClaimName, c.MountPath)
		}
	}
	if t := spec.PodTemplate; t != nil {
		for _, v := range t.Volumes {
			if v.PersistentVolumeClaim != nil {
				add(v.PersistentVolumeClaim.ClaimName, mountPath(t, v.Name))
			}
		}
	}
	return volumes
}

// mountPath returns where nginx mounts a volume, or "".
func mountPath(t *v1alpha2.PodTemplate, volume string) string {
	for _, m := range t.VolumeMounts {
		if m.Name == volume {
			return m.MountPath
		}
	}
	return ""
}

// Secrets returns the Secrets that an application uses, each once, sorted by name. Of several uses, the first one is
// named: certificates come first, because their fingerprints are recorded.
func Secrets(spec *v1alpha2.NginxOperatorSpec) []Secret {
	found := map[string]Secret{}
	add := func(name, usedFor string) {
		if _, known := found[name]; !known && possible(name) {
			found[name] = Secret{Name: name, UsedFor: usedFor}
		}
	}
	for _, s := range certificates(spec) {
		if _, known := found[s.Name]; !known {
			found[s.Name] = s
		}
	}
	for _, o := range configenv.Objects(spec.Config) {
		if o.Kind == configenv.Secret {
			add(o.Object, "config.env")
		}
	}
	if spec.PodTemplate != nil {
		podSecrets(spec.PodTemplate, add)
	}
	for _, s := range spec.ImagePullSecrets {
		add(s.Name, "pulling images")
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Secret) int { return cmp.Compare(a.Name, b.Name) })
}

// certificates returns the Secrets with certificates, those of nginx first.
func certificates(spec *v1alpha2.NginxOperatorSpec) []Secret {
	var all []Secret
	for _, c := range spec.TLS {
		all = append(all, Secret{Name: c.SecretName, UsedFor: "tls " + c.Name, Certificate: true})
	}
	if spec.Ingress == nil {
		return all
	}
	for _, c := range spec.Ingress.TLS {
		// With tlsName, the Secret is that of an entry of spec.tls.
		if c.SecretName != nil {
			all = append(all, Secret{Name: *c.SecretName, UsedFor: "ingress", Certificate: true})
		}
	}
	return all
}

func podSecrets(t *v1alpha2.PodTemplate, add func(name, usedFor string)) {
	for _, v := range t.Volumes {
		if v.Secret != nil {
			add(v.Secret.SecretName, "volume "+v.Name)
		}
		if v.CSI != nil && v.CSI.NodePublishSecretRef != nil {
			add(v.CSI.NodePublishSecretRef.Name, "volume "+v.Name)
		}
	}
	for _, e := range environment(t) {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			add(e.ValueFrom.SecretKeyRef.Name, "environment variable "+e.Name)
		}
	}
	for _, e := range allEnvironment(t) {
		if e.SecretRef != nil {
			add(e.SecretRef.Name, "environment variables")
		}
	}
	for _, s := range t.ImagePullSecrets {
		add(s.Name, "pulling images")
	}
}

// environment returns the environment variables of all containers.
func environment(t *v1alpha2.PodTemplate) []corev1.EnvVar {
	all := slices.Clone(t.Env)
	for _, c := range slices.Concat(t.InitContainers, t.Containers) {
		all = append(all, c.Env...)
	}
	return all
}

// allEnvironment returns the sources of environment variables of all containers.
func allEnvironment(t *v1alpha2.PodTemplate) []corev1.EnvFromSource {
	all := slices.Clone(t.EnvFrom)
	for _, c := range slices.Concat(t.InitContainers, t.Containers) {
		all = append(all, c.EnvFrom...)
	}
	return all
}
