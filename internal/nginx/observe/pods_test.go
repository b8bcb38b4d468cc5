package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBelongsTo(t *testing.T) {
	of := func(kind, name string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, Controller: new(true)}}
	}
	for name, tt := range map[string]struct {
		owners []metav1.OwnerReference
		hash   string
		want   bool
	}{
		"its own":                                  {of("ReplicaSet", "web-5b77"), "5b77", true},
		"taken out of its ReplicaSet":              {nil, "", false},
		"made by hand":                             {nil, "5b77", false},
		"of a ReplicaSet of another Deployment":    {of("ReplicaSet", "shop-5b77"), "5b77", false},
		"of one whose name begins in the same way": {of("ReplicaSet", "web-shop-5b77"), "5b77", false},
		"of something else":                        {of("Job", "web-5b77"), "5b77", false},
		"of its StatefulSet":                       {of("StatefulSet", "web"), "", true},
		"of another StatefulSet":                   {of("StatefulSet", "web-shop"), "", false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: tt.owners, Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: tt.hash}}}
		if got := belongsTo(pod, "web"); got != tt.want {
			t.Errorf("%s: it is %t, want %t", name, got, tt.want)
		}
	}
}
