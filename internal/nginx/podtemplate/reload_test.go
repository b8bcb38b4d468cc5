package podtemplate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// TestReloadOn: the instance manager watches one folder for each volume. Without reloadOn, the
// command, and so the template, is that of earlier releases.
func TestReloadOn(t *testing.T) {
	mount := func(name, path string, subPath *string) v1alpha2.VolumeMount {
		return v1alpha2.VolumeMount{Name: name, MountPath: path, SubPath: subPath}
	}
	mounts := []v1alpha2.VolumeMount{
		mount("users", "/srv/users", nil), mount("users", "/etc/users", new("")), mount("users", "/a", new("part")),
		mount("extra", "/etc/extra$(HOME)", nil), mount("others", "/etc/others", nil),
	}
	for name, tt := range map[string]struct {
		reloadOn, want []string
	}{
		"none": {nil, nil},
		"two":  {[]string{"users", "extra"}, []string{"--reload-on=/etc/extra$$(HOME)", "--reload-on=/etc/users"}},
		"in another order": {[]string{"extra", "users"},
			[]string{"--reload-on=/etc/extra$$(HOME)", "--reload-on=/etc/users"}},
	} {
		nginx := application()
		nginx.Spec.PodTemplate = &v1alpha2.PodTemplate{VolumeMounts: mounts}
		for _, volume := range []string{"users", "extra", "others"} {
			nginx.Spec.PodTemplate.Volumes = append(nginx.Spec.PodTemplate.Volumes, v1alpha2.Volume{
				Name: volume, Secret: &corev1.SecretVolumeSource{SecretName: volume},
			})
		}
		before := commandOf(t, nginx)
		nginx.Spec.PodTemplate.ReloadOn = tt.reloadOn
		got := commandOf(t, nginx)
		if diff := cmp.Diff(before, slices.DeleteFunc(slices.Clone(got), isReloadOn)); diff != "" {
			t.Errorf("%s: the rest of the command, -without +with:\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.want, slices.DeleteFunc(got, func(a string) bool { return !isReloadOn(a) }), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func isReloadOn(argument string) bool { return strings.HasPrefix(argument, "--reload-on") }

// commandOf returns the command of nginx's container.
func commandOf(t *testing.T, nginx *v1alpha2.NginxOperator) []string {
	t.Helper()
	return (&builder{nginx, options}).command()
}
