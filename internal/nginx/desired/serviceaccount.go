package desired

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/nginx/manifests"
	"example.com/nginx-operator/internal/nginx/naming"
)

// serviceAccount gives the pods an identity without rights or a token. It exists even if the pods have another one: those of
// an earlier revision may need it.
func serviceAccount(in *input) (object, error) {
	account, err := manifests.Decode[corev1ac.ServiceAccountApplyConfiguration]("serviceaccount.yaml")
	if err != nil {
		return object{}, err
	}
	account.ObjectMetaApplyConfiguration = in.meta(naming.ServiceAccount(in.app.Name))
	if want := in.app.Spec.ServiceAccount; want != nil {
		account.WithAnnotations(want.Annotations)
	}
	return object{account, account.ObjectMetaApplyConfiguration}, nil
}
