package backup

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestReadSource: ConfigMaps that merely have the label of an application are not recorded, and those that say that it owns them
// are read up to a bound.
func TestReadSource(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha2.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "app"}}
	backup := &v1alpha1.NginxBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}
	backup.Spec.Target.Name = "web"
	owner := metav1.OwnerReference{APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind, Name: "web", UID: "app", Controller: new(true)}
	for name, test := range map[string]struct {
		owners  []metav1.OwnerReference
		number  int
		tooMuch bool
	}{"of others": {nil, 40, false}, "its own": {[]metav1.OwnerReference{owner}, 3, false}, "forged": {[]metav1.OwnerReference{owner}, 40, true}} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(nginx)
			for i := range test.number {
				c = c.WithObjects(&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("large-%d", i), Labels: naming.Labels("web"), OwnerReferences: test.owners},
					Data:       map[string]string{"x": strings.Repeat("x", 1_000_000)},
				})
			}
			source, err := readSource(t.Context(), c.Build(), backup)
			tooMuch := (*sourceError)(nil)
			switch {
			case errors.As(err, &tooMuch) != test.tooMuch, err != nil && !test.tooMuch:
				t.Errorf("the error is %v", err)
			case err == nil && len(source.Rendered) != len(test.owners)*test.number:
				t.Errorf("%d configurations are recorded", len(source.Rendered))
			}
		})
	}
}
