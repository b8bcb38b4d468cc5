package snapshot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

func fromConfigMap(name string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

func fromSecret(name string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

// full has a reference in every field that can hold one.
var full = v1alpha2.NginxOperatorSpec{
	Config: &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "conf"}},
	Content: []v1alpha2.Content{
		{MountPath: "/srv/pages", ConfigMap: &v1alpha2.ConfigMapReference{Name: "pages"}},
		{MountPath: "/srv/films", PersistentVolumeClaim: &v1alpha2.PersistentVolumeClaimReference{ClaimName: "films"}},
		{MountPath: "/srv/more", PersistentVolumeClaim: &v1alpha2.PersistentVolumeClaimReference{ClaimName: "films"}},
		{MountPath: "/srv/image", Image: &v1alpha2.ImageVolume{Reference: "pages:1"}},
	},
	TLS: []v1alpha2.Certificate{{Name: "shop", SecretName: "shop-tls"}, {Name: "again", SecretName: "shop-tls"}},
	Ingress: &v1alpha2.Ingress{TLS: []v1alpha2.IngressTLS{
		{SecretName: new("shop-tls")}, {SecretName: new("edge-tls")}, {TLSName: new("shop")},
	}},
	ImagePullSecrets: []v1alpha2.SecretReference{{Name: "mirror"}, {Name: "pull"}},
	PodTemplate: &v1alpha2.PodTemplate{
		Env: []corev1.EnvVar{{Name: "PLAIN", Value: "x"}, {Name: "MODE", ValueFrom: fromConfigMap("modes")}, {Name: "KEY", ValueFrom: fromSecret("keys")}},
		Volumes: []v1alpha2.Volume{
			{Name: "a", ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "extra"}}},
			{Name: "b", Secret: &corev1.SecretVolumeSource{SecretName: "htpasswd"}},
			{Name: "c", CSI: &corev1.CSIVolumeSource{NodePublishSecretRef: &corev1.LocalObjectReference{Name: "csi"}}},
			{Name: "d", EmptyDir: &corev1.EmptyDirVolumeSource{}},
			{Name: "e", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "uploads"}},
			{Name: "f", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "state"}},
			{Name: "g", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "films"}},
		},
		VolumeMounts:     []v1alpha2.VolumeMount{{Name: "e", MountPath: "/srv/uploads"}},
		InitContainers:   []v1alpha2.Container{{Name: "i", Image: "i", Env: []corev1.EnvVar{{Name: "E", ValueFrom: fromConfigMap("init")}}}},
		Containers:       []v1alpha2.Container{{Name: "s", Image: "s", Env: []corev1.EnvVar{{Name: "E", ValueFrom: fromSecret("sidecar")}}}},
		ImagePullSecrets: []v1alpha2.SecretReference{{Name: "pull"}},
	},
}

func TestReferences(t *testing.T) {
	if diff := cmp.Diff([]string{"conf", "extra", "init", "modes", "pages"}, ConfigMaps(&full)); diff != "" {
		t.Errorf("ConfigMaps, -want +got:\n%s", diff)
	}
	volumes := []Volume{{Claim: "films", MountPath: "/srv/films"}, {Claim: "uploads", MountPath: "/srv/uploads"}, {Claim: "state"}}
	if diff := cmp.Diff(volumes, Volumes(&full)); diff != "" {
		t.Errorf("volumes, -want +got:\n%s", diff)
	}
	want := []Secret{
		{Name: "csi", UsedFor: "volume c"},
		{Name: "edge-tls", UsedFor: "ingress", Certificate: true},
		{Name: "htpasswd", UsedFor: "volume b"},
		{Name: "keys", UsedFor: "environment variable KEY"},
		{Name: "mirror", UsedFor: "pulling images"},
		{Name: "pull", UsedFor: "pulling images"},
		{Name: "shop-tls", UsedFor: "tls shop", Certificate: true},
		{Name: "sidecar", UsedFor: "environment variable E"},
	}
	if diff := cmp.Diff(want, Secrets(&full)); diff != "" {
		t.Errorf("Secrets, -want +got:\n%s", diff)
	}
	empty := &v1alpha2.NginxOperatorSpec{}
	if len(ConfigMaps(empty))+len(Volumes(empty))+len(Secrets(empty)) > 0 {
		t.Error("an empty spec refers to something")
	}
}

// TestImpossibleNames: a reference with an invalid name is ignored. The pod of a job would mount it
// in a folder of that name.
func TestImpossibleNames(t *testing.T) {
	for _, name := range []string{"../destination", "kube-system/token", "A", "a b", "a\nb", ".."} {
		spec := &v1alpha2.NginxOperatorSpec{PodTemplate: &v1alpha2.PodTemplate{
			Env: []corev1.EnvVar{{Name: "A", ValueFrom: fromConfigMap(name)}, {Name: "B", ValueFrom: fromSecret(name)}},
			Volumes: []v1alpha2.Volume{
				{Name: "a", ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}},
				{Name: "b", Secret: &corev1.SecretVolumeSource{SecretName: name}},
				{Name: "c", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}},
			},
		}}
		if found := ConfigMaps(spec); len(found) > 0 {
			t.Errorf("ConfigMaps %q", found)
		}
		if found := Secrets(spec); len(found) > 0 {
			t.Errorf("Secrets %v", found)
		}
		if found := Volumes(spec); len(found) > 0 {
			t.Errorf("claims %v", found)
		}
	}
}

func TestStateOf(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{Spec: v1alpha2.NginxOperatorSpec{Replicas: new(int32(2))}}
	nginx.Status.Config = &v1alpha2.ConfigStatus{Revision: "r1", StableRevision: "r1"}
	before := mustState(t, nginx)
	tests := []struct {
		name     string
		change   func(*v1alpha2.NginxOperator)
		declared bool
		replicas int32
	}{
		{"nothing", func(*v1alpha2.NginxOperator) {}, false, 2},
		{"replicas", func(n *v1alpha2.NginxOperator) { n.Spec.Replicas = new(int32(3)) }, false, 3},
		{"no replicas", func(n *v1alpha2.NginxOperator) { n.Spec.Replicas = nil }, false, 1},
		{"suspended", func(n *v1alpha2.NginxOperator) { n.Spec.Suspend = new(true) }, false, 2},
		{"labels", func(n *v1alpha2.NginxOperator) { n.Labels = map[string]string{"a": "b"} }, false, 2},
		{"image", func(n *v1alpha2.NginxOperator) { n.Spec.Image = new("nginx:2") }, true, 2},
		{"requested configuration", func(n *v1alpha2.NginxOperator) { n.Status.Config.Revision = "r2" }, true, 2},
		{"served configuration", func(n *v1alpha2.NginxOperator) { n.Status.Config.StableRevision = "r2" }, true, 2},
		{"pods that come and go", func(n *v1alpha2.NginxOperator) { n.Status.ReadyReplicas, n.Status.Config.LoadedReplicas = 1, 1 }, false, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			changed := nginx.DeepCopy()
			tt.change(changed)
			after := mustState(t, changed)
			if (after.Change != before.Change) != tt.declared || after.Replicas != tt.replicas {
				t.Errorf("before %+v, after %+v", before, after)
			}
		})
	}
}

func mustState(t *testing.T, nginx *v1alpha2.NginxOperator) Fingerprint {
	t.Helper()
	state, err := FingerprintOf(nginx)
	if err != nil {
		t.Fatal(err)
	}
	return state
}
