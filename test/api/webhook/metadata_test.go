package webhook

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/testenv"
)

// TestSecretKeepsItsMetadata: the operator writes its certificate, and no metadata, into the Secret that others have installed.
func TestSecretKeepsItsMetadata(t *testing.T) {
	plane, port := startPlane(t)
	must(t, plane.PrepareOperator(t.Context()))
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: testenv.SystemNamespace, Name: testenv.OperatorOptions(port).WebhookSecret}
	must(t, plane.Client.Get(t.Context(), key, secret))
	theirs := map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	secret.Labels, secret.Annotations = maps.Clone(theirs), maps.Clone(theirs)
	secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "release", UID: "release"}}
	must(t, plane.Client.Update(t.Context(), secret))
	stop, err := plane.StartOperator(t.Context(), port, nil)
	must(t, err)
	must(t, plane.Client.Get(t.Context(), key, secret))
	if len(secret.Data) == 0 || !maps.Equal(secret.Labels, theirs) || !maps.Equal(secret.Annotations, theirs) || len(secret.OwnerReferences) != 1 {
		t.Errorf("%d keys, labels %v, annotations %v, owners %v", len(secret.Data), secret.Labels, secret.Annotations, secret.OwnerReferences)
	}
	must(t, stop())
}
