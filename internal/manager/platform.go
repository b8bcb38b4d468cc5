package manager

import (
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/nginx-operator/internal/kube/podsettings"
)

// findPlatform sets Platform, if it is podsettings.Auto, to the platform of the cluster.
func (o *Options) findPlatform(config *rest.Config) error {
	if o.Platform != podsettings.Auto {
		return nil
	}
	cluster, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	if o.Platform, err = podsettings.Detect(cluster); err != nil {
		return err
	}
	ctrl.Log.Info("found the platform", "platform", o.Platform)
	return nil
}
