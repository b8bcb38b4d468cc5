package desired

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/nginx/manifests"
	"example.com/nginx-operator/internal/nginx/naming"
)

// serviceAccount gives the pods an identity without rights or a token.
func serviceAccount(in *input) (object, error) {
	account, err := manifests.Decode[corev1ac.ServiceAccountApplyConfiguration]("serviceaccount.yaml")
	if err != nil {
		return object{}, err
	}
	account.ObjectMetaApplyConfiguration = in.meta(naming.ServiceAccount(in.app.Name))
	return object{account, account.ObjectMetaApplyConfiguration}, nil
}
