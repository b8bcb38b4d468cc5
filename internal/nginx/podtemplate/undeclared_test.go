package podtemplate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// everyVolume returns an application whose pods have every volume that the operator adds.
func everyVolume() *v1alpha2.NginxOperator {
	nginx := application()
	nginx.Spec = v1alpha2.NginxOperatorSpec{
		TLS: []v1alpha2.Certificate{{Name: "site", SecretName: "tls-site"}},
		Content: []v1alpha2.Content{
			{MountPath: "/srv/a", ConfigMap: &v1alpha2.ConfigMapReference{Name: "a"}},
			{MountPath: "/srv/b", PersistentVolumeClaim: &v1alpha2.PersistentVolumeClaimReference{ClaimName: "b"}},
			{MountPath: "/srv/c", Image: &v1alpha2.ImageVolume{Reference: "c"}},
		},
		Config: &v1alpha2.Config{
			Files:   map[string]v1alpha2.ConfigFile{"a.conf": ""},
			Env:     []v1alpha2.ConfigEnvVar{{Name: "A", ValueFrom: &v1alpha2.ConfigEnvVarSource{SecretKeyRef: &v1alpha2.KeyReference{Name: "s", Key: "k"}}}},
			EnvFrom: []v1alpha2.ConfigEnvFromSource{{ConfigMapRef: &v1alpha2.ConfigMapReference{Name: "m"}}},
		},
		Metrics: &v1alpha2.Metrics{Requests: new(true)},
	}
	return nginx
}

// operatorVolumes returns the names of the volumes that the operator adds, in this release and earlier ones.
func operatorVolumes(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, s := range []shape{{instanceImage: "operator:v1"}, {instanceImage: "operator:v1", before05: true}} {
		template, err := newBuilder(everyVolume(), options).podTemplateOf(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range template.Spec.Volumes {
			names = append(names, *v.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestReservedVolumes: the list of reserved names has every volume that the operator adds, and none that it never adds.
func TestReservedVolumes(t *testing.T) {
	names := operatorVolumes(t)
	for _, name := range names {
		if !naming.ReservedVolume(name) && name != naming.VolumeRequestLog {
			t.Errorf("the volume %s is not reserved: add it to naming.ReservedVolumes and to the rule of v1alpha2.Volume", name)
		}
	}
	for _, reserved := range append(slices.Clone(naming.ReservedVolumes), naming.VolumeRequestLog) {
		if !slices.ContainsFunc(names, func(name string) bool {
			return name == reserved || strings.HasSuffix(reserved, "-") && strings.HasPrefix(name, reserved)
		}) {
			t.Errorf("%s is reserved, and no pod has such a volume: %v", reserved, names)
		}
	}
}

// mounting returns a template whose containers all use a volume.
func mounting(name string, declared ...v1alpha2.Volume) *v1alpha2.PodTemplate {
	mounts := []v1alpha2.VolumeMount{{Name: name, MountPath: "/srv/x"}}
	env := []corev1.EnvVar{
		{Name: "A", Value: "a"},
		{Name: "B", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: name, Path: "p", Key: "k"}}},
	}
	return &v1alpha2.PodTemplate{
		Volumes: declared, VolumeMounts: mounts, Env: env,
		InitContainers: []v1alpha2.Container{{Name: "before", Image: "a", VolumeMounts: mounts, Env: env}},
		Containers:     []v1alpha2.Container{{Name: "beside", Image: "a", VolumeMounts: mounts, Env: env}},
	}
}

// TestUndeclaredVolumesAreNotBuilt: no container of a user has a volume of the operator, whatever a stored spec says.
func TestUndeclaredVolumesAreNotBuilt(t *testing.T) {
	for _, name := range append(operatorVolumes(t), "other") {
		nginx := everyVolume()
		clean := everyVolume()
		clean.Spec.PodTemplate = mounting("unused")
		nginx.Spec.PodTemplate = mounting(name)
		if got, want := buildJSON(t, nginx), buildJSON(t, clean); got != want {
			t.Errorf("%s:\n%s", name, cmp.Diff(want, got))
		}
		reason := InvalidVolumes(nginx.Spec.PodTemplate)
		if !strings.Contains(reason, "spec.podTemplate.containers[beside].env[B].valueFrom.fileKeyRef names the volume "+name) {
			t.Errorf("%s: the reason is %q", name, reason)
		}
	}
}

// TestReservedVolumesCannotBeDeclared: a stored spec that declares a volume with a name of the operator does not replace it.
func TestReservedVolumesCannotBeDeclared(t *testing.T) {
	for _, name := range operatorVolumes(t) {
		if name == naming.VolumeRequestLog {
			continue
		}
		nginx := everyVolume()
		nginx.Spec.PodTemplate = mounting(name, v1alpha2.Volume{Name: name, ConfigMap: &corev1.ConfigMapVolumeSource{}})
		template, err := Build(nginx, options)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, v := range template.Spec.Volumes {
			if *v.Name == name {
				count++
			}
		}
		if count > 1 || mountsIn(template, "/srv/x") > 0 {
			t.Errorf("%s: %d volumes of this name, %d mounts of users", name, count, mountsIn(template, "/srv/x"))
		}
		if InvalidVolumes(nginx.Spec.PodTemplate) == "" {
			t.Errorf("%s: the spec is valid", name)
		}
	}
}

// TestDeclaredVolumesAreBuilt: volumes of the spec, and claims of a StatefulSet, are mounted.
func TestDeclaredVolumesAreBuilt(t *testing.T) {
	for name, tt := range map[string]struct {
		template *v1alpha2.PodTemplate
		claims   []string
	}{
		"a volume":                     {mounting("data", v1alpha2.Volume{Name: "data", EmptyDir: &corev1.EmptyDirVolumeSource{}}), nil},
		"a volume of an earlier name":  {mounting(naming.VolumeRequestLog, v1alpha2.Volume{Name: naming.VolumeRequestLog, EmptyDir: &corev1.EmptyDirVolumeSource{}}), nil},
		"a claim of the StatefulSet":   {mounting("objects"), []string{"objects"}},
		"nothing, because none is set": {&v1alpha2.PodTemplate{}, nil},
	} {
		nginx := application()
		nginx.Spec.PodTemplate = tt.template
		with := options
		with.Claims = tt.claims
		template, err := Build(nginx, with)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := mountsIn(template, "/srv/x"), 3*len(tt.template.VolumeMounts); got != want {
			t.Errorf("%s: %d mounts, want %d", name, got, want)
		}
		if reason := InvalidVolumes(tt.template); (reason == "") != (tt.claims == nil) {
			t.Errorf("%s: the reason is %q", name, reason)
		}
	}
	if reason := InvalidVolumes(nil); reason != "" {
		t.Errorf("no template: %q", reason)
	}
}

// mountsIn counts the mounts at a path.
func mountsIn(template *Template, path string) int {
	count := 0
	for _, containers := range [][]corev1ac.ContainerApplyConfiguration{template.Spec.InitContainers, template.Spec.Containers} {
		for _, c := range containers {
			for _, m := range c.VolumeMounts {
				if *m.MountPath == path {
					count++
				}
			}
		}
	}
	return count
}

func buildJSON(t *testing.T, nginx *v1alpha2.NginxOperator) string {
	t.Helper()
	template, err := Build(nginx, options)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(template, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
