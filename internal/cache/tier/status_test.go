package tier

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// TestStatus: every field of a tier's status but its pods is that of its application, and comes back.
func TestStatus(t *testing.T) {
	want := &v1alpha1.TierStatus{
		Conditions: []metav1.Condition{{Type: "Ready"}}, Replicas: 1, ReadyReplicas: 2, UpdatedReplicas: 3, Restarts: 4, Image: "nginx:1",
		NginxVersion: "1.30", Revision: 5, Config: &v1alpha2.ConfigStatus{Revision: "r1"}, Certificates: []v1alpha2.CertificateStatus{{Name: "a"}}, WaitingRollout: &v1alpha2.WaitingRollout{},
	}
	of := Previous(want)
	if diff := cmp.Diff(want, Status(&of)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range reflect.TypeFor[v1alpha1.TierStatus]().NumField() {
		if field := reflect.TypeFor[v1alpha1.TierStatus]().Field(i); reflect.ValueOf(want).Elem().Field(i).IsZero() != (field.Name == "Pods") {
			t.Errorf("the test does not set %s", field.Name)
		}
	}
}
