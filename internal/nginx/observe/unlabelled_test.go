package observe

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestLacksLabel: an object is looked for by its owner. If the owner has several applications, each looks for its own.
func TestLacksLabel(t *testing.T) {
	app := application.Of(&v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "front-edge", UID: "u1"}})
	for name, tt := range map[string]struct {
		object, label, owner string
		want                 bool
	}{
		"its own":                     {"front-edge-1a2b", "front-edge", "u1", false},
		"its own, without the label":  {"front-edge-1a2b", "", "u1", true},
		"its own, with another label": {"front-edge-1a2b", "mine", "u1", true},
		"of the owner's other one":    {"front-shards-1a2b", "front-shards", "u1", false},
		"of an earlier owner":         {"front-edge-1a2b", "", "u0", false},
		"its workload, without label": {"front-edge", "", "u1", true},
	} {
		live := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: tt.object, Labels: map[string]string{naming.LabelApplication: tt.label},
			OwnerReferences: []metav1.OwnerReference{{UID: "u0", Controller: new(true)}},
		}}
		if tt.owner == "u1" {
			live.OwnerReferences[0].UID = "u1"
		}
		if got := lacksLabel(app, live); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
