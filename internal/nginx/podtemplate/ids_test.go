package podtemplate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// TestIDs: the pods run with the ids of the spec, else with those of nginx's images, or with what the platform assigns. A
// volume that nginx may write to belongs to its group.
func TestIDs(t *testing.T) {
	const nginx = 101
	claim := v1alpha2.Volume{Name: "uploads", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "uploads"}}
	readOnlyClaim := *claim.DeepCopy()
	readOnlyClaim.PersistentVolumeClaim.ReadOnly = true
	mounted := func(v v1alpha2.Volume, readOnly bool) v1alpha2.PodTemplate {
		return v1alpha2.PodTemplate{
			Volumes:      []v1alpha2.Volume{v},
			VolumeMounts: []v1alpha2.VolumeMount{{Name: v.Name, MountPath: "/srv/uploads", ReadOnly: &readOnly}},
		}
	}
	with := func(template v1alpha2.PodTemplate, ids v1alpha2.PodSecurityContext) v1alpha2.PodTemplate {
		template.SecurityContext = &ids
		return template
	}
	platform := options
	platform.PlatformAssignsIDs = true
	type ids struct{ User, Group, FSGroup int64 }
	for name, tt := range map[string]struct {
		options  Options
		template v1alpha2.PodTemplate
		want     ids
	}{
		"by default":                       {options, v1alpha2.PodTemplate{}, ids{nginx, nginx, 0}},
		"with a volume to write to":        {options, mounted(claim, false), ids{nginx, nginx, nginx}},
		"with a volume mounted read-only":  {options, mounted(claim, true), ids{nginx, nginx, 0}},
		"with a read-only claim":           {options, mounted(readOnlyClaim, false), ids{nginx, nginx, 0}},
		"of the platform":                  {platform, mounted(claim, false), ids{}},
		"of the spec":                      {options, with(mounted(claim, false), v1alpha2.PodSecurityContext{RunAsUser: new(int64(1)), RunAsGroup: new(int64(2))}), ids{1, 2, 2}},
		"of the spec, on the platform":     {platform, with(v1alpha2.PodTemplate{}, v1alpha2.PodSecurityContext{RunAsUser: new(int64(1))}), ids{User: 1}},
		"group of the volumes in the spec": {options, with(mounted(claim, false), v1alpha2.PodSecurityContext{FSGroup: new(int64(3))}), ids{nginx, nginx, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			app := application()
			app.Spec.PodTemplate = &tt.template
			template, err := Build(app, tt.options)
			if err != nil {
				t.Fatal(err)
			}
			security := template.Spec.SecurityContext
			if diff := cmp.Diff(tt.want, ids{value(security.RunAsUser), value(security.RunAsGroup), value(security.FSGroup)}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if (security.FSGroup != nil) != (security.FSGroupChangePolicy != nil) {
				t.Errorf("fsGroupChangePolicy is %v", security.FSGroupChangePolicy)
			}
			if !*security.RunAsNonRoot {
				t.Error("the pods may run as root")
			}
		})
	}
}

func value(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}

// TestImagePullSecrets: the pods have the Secrets of the operator and of the spec, each once.
func TestImagePullSecrets(t *testing.T) {
	app, options := application(), options
	options.ImagePullSecrets = []string{"mirror", "shared"}
	app.Spec.ImagePullSecrets = []v1alpha2.SecretReference{{Name: "shop"}, {Name: "shared"}, {Name: "a"}}
	app.Spec.PodTemplate = &v1alpha2.PodTemplate{ImagePullSecrets: []v1alpha2.SecretReference{{Name: "shop"}, {Name: "old"}}}
	template, err := Build(app, options)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, secret := range template.Spec.ImagePullSecrets {
		names = append(names, *secret.Name)
	}
	if diff := cmp.Diff([]string{"mirror", "shared", "a", "shop", "old"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSafeToEvict: a cluster autoscaler may discard the operator's volumes, and no others, unless the user says so.
func TestSafeToEvict(t *testing.T) {
	app := application()
	app.Spec.PodTemplate = &v1alpha2.PodTemplate{Volumes: []v1alpha2.Volume{{Name: "spool", EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	annotation := func(options Options) string {
		template, err := Build(app, options)
		if err != nil {
			t.Fatal(err)
		}
		return template.Annotations[annotationSafeToEvict]
	}
	if got := annotation(options); got != "instance,scratch" {
		t.Errorf("it is %q", got)
	}
	app.Spec.PodTemplate.Annotations = map[string]string{annotationSafeToEvict: "instance,scratch,spool"}
	if got := annotation(options); got != "instance,scratch,spool" {
		t.Errorf("instead of the user's, it is %q", got)
	}
}
