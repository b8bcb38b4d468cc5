package manager

import (
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/nginx-operator/internal/kube/optional"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// addOptionalKinds adds what looks for the kinds that the cluster may lack, and caches the operator's own objects of them.
// An operator of selected namespaces may have no cluster-wide permission, so it does not watch their definitions.
func addOptionalKinds(mgr ctrl.Manager, options Options, content *content) (*optional.Kinds, error) {
	var all []owned.Kind
	if options.runs(ControllerNginx) {
		all = desired.OptionalKinds(application.KindDeployment)
	}
	kinds, err := optional.New(optional.Options{
		Config:           mgr.GetConfig(),
		HTTPClient:       mgr.GetHTTPClient(),
		Scheme:           mgr.GetScheme(),
		Mapper:           mgr.GetRESTMapper(),
		Namespaces:       options.Namespaces,
		WatchDefinitions: len(options.Namespaces) == 0,
		Selector:         naming.OwnedSelector(),
		Index:            observe.IndexApplication,
		IndexValues:      observe.ApplicationLabel,
		Content:          content.ofKind,
		Listed: func(kind owned.Kind) toolscache.TransformFunc {
			transform, _ := newContent().ofKind(kind)
			return transform
		},
		WatchErrors: countWatchErrors,
	}, all...)
	if err != nil {
		return nil, err
	}
	return kinds, mgr.Add(kinds)
}
