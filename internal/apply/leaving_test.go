package apply

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/observe"
)

func TestLeaving(t *testing.T) {
	deleted := new(metav1.Now())
	for want, meta := range map[string]metav1.ObjectMeta{
		"Service web belongs to an earlier NginxOperator of the name: it is made anew when garbage collection has removed it": {},
		"Service web is being deleted, and made anew when it is gone":                                                         {DeletionTimestamp: deleted},
		"Service web is being deleted, and made anew when it is gone: it waits for its finalizers a/b, c/d":                   {DeletionTimestamp: deleted, Finalizers: []string{"a/b", "c/d"}},
	} {
		change := Change{Intent: desired.Intent{Kind: desired.Kind{Kind: observe.Kind{Name: "Service"}}, Name: "web"}, Live: &corev1.Service{ObjectMeta: meta}}
		if got := leaving(change); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
