package installation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func deployment(image string, labels map[string]string, arguments ...string) appsv1.Deployment {
	return appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "nginx-operator-system", Name: "nginx-operator", Labels: labels},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "sidecar", Image: "mesh:1.0.0"}, {Name: "nginx-operator", Image: image, Args: arguments}},
		}}},
	}
}

func TestOf(t *testing.T) {
	for name, tt := range map[string]struct {
		deployment appsv1.Deployment
		want       Operator
	}{
		"manifests": {deployment("r/nginx-operator:0.4.0", nil), Operator{Method: Manifests, Version: "0.4.0", Image: "r/nginx-operator:0.4.0"}},
		"a label":   {deployment("r/o:dev", map[string]string{"app.kubernetes.io/version": "1.2.3"}), Operator{Method: Manifests, Version: "1.2.3", Image: "r/o:dev"}},
		"a port":    {deployment("r:5000/o", nil), Operator{Method: Manifests, Image: "r:5000/o"}},
		"a digest":  {deployment("r/o:1.2.3@sha256:abc", nil), Operator{Method: Manifests, Version: "1.2.3", Image: "r/o:1.2.3@sha256:abc"}},
		"Helm":      {deployment("r/o:1.2.3", map[string]string{"app.kubernetes.io/managed-by": "Helm"}), Operator{Method: Helm, Version: "1.2.3", Image: "r/o:1.2.3"}},
		"OLM":       {deployment("r/o:1.2.3", map[string]string{"olm.owner": "nginx-operator.v1.2.3"}), Operator{Method: OLM, Version: "1.2.3", Image: "r/o:1.2.3"}},
		"two namespaces": {deployment("r/o:1.2.3", nil, "--log-level=debug", "--namespaces=$(POD_NAMESPACE),shop"),
			Operator{Method: Manifests, Version: "1.2.3", Image: "r/o:1.2.3", Namespaces: []string{"nginx-operator-system", "shop"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Of(tt.deployment), cmpopts.IgnoreFields(Operator{}, "Deployment")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNewer(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"1.10.0", "1.9.0", true}, {"1.9.0", "1.10.0", false}, {"1.0.0", "1.0.0", false},
		{"1.0.0", "1.0.0-rc.1", true}, {"dev", "1.0.0", false}, {"1.0.0", "", false},
	} {
		if got := Newer(tt.a, tt.b); got != tt.want {
			t.Errorf("Newer(%q, %q) = %t", tt.a, tt.b, got)
		}
	}
}

func TestOurs(t *testing.T) {
	other := deployment("r/o:1.2.3", nil)
	other.Namespace = "shop"
	ours, others := Ours([]Operator{Of(other), Of(deployment("r/o:1.2.3", nil))})
	if ours == nil || ours.Deployment.Namespace != "nginx-operator-system" || len(others) != 1 || others[0].Deployment.Namespace != "shop" {
		t.Errorf("ours is %v, and the others are %v", ours, others)
	}
}
