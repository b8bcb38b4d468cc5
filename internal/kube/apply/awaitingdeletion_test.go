package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/kube/owned"
)

func TestAwaitingDeletion(t *testing.T) {
	deleted := new(metav1.Now())
	for want, meta := range map[string]metav1.ObjectMeta{
		"Service web belongs to a deleted NginxOperator of the same name: it is recreated when garbage collection has deleted it": {},
		"Service web is being deleted, and is recreated afterwards":                                                               {DeletionTimestamp: deleted},
		"Service web is being deleted, and is recreated afterwards: its deletion waits for the finalizers a/b, c/d":               {DeletionTimestamp: deleted, Finalizers: []string{"a/b", "c/d"}},
	} {
		change := Change{Intent: owned.Intent{Kind: owned.Kind{Name: "Service"}, Name: "web"}, Live: &corev1.Service{ObjectMeta: meta}}
		if got := settings.awaitingDeletion(change); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
