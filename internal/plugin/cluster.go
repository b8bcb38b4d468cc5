package plugin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/manifests"
	"example.com/nginx-operator/internal/plugin/pods"
	"example.com/nginx-operator/internal/plugin/view"
)

// cluster is the one that the flags and the kubeconfig select.
type cluster struct {
	flags *genericclioptions.ConfigFlags
}

// connect returns a client, and the namespace of the command.
func (c *cluster) connect() (client.WithWatch, string, error) {
	return c.connectWith(func(*rest.Config) {})
}

// connectTo is connect with the namespace of the command, or an empty one for all.
func (c *cluster) connectTo(all bool) (client.WithWatch, string, error) {
	connected, namespace, err := c.connect()
	if all {
		namespace = ""
	}
	return connected, namespace, err
}

// readApplications reads the applications of the namespace of the command, or of all, with the labels of the flag --selector.
func (c *cluster) readApplications(ctx context.Context, all bool, selector string) (*v1alpha2.NginxOperatorList, error) {
	parsed, err := parseSelector(selector)
	if err != nil {
		return nil, err
	}
	namespace := ""
	if !all {
		if namespace, _, err = c.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
			return nil, err
		}
	}
	raw, err := c.raw()
	if err != nil {
		return nil, err
	}
	return view.ReadApplications(ctx, raw, namespace, parsed)
}

// connectWith is connect with a changed configuration of the client.
func (c *cluster) connectWith(change func(*rest.Config)) (client.WithWatch, string, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha2.AddToScheme, backupv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, "", err
		}
	}
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, "", err
	}
	// A command sends a few requests, and waits for each.
	config.QPS, config.Burst = -1, 0
	change(config)
	namespace, _, err := c.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, "", err
	}
	connected, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	return connected, namespace, err
}

// raw returns a client that takes paths of the API.
func (c *cluster) raw() (rest.Interface, error) {
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.GroupVersion, config.NegotiatedSerializer = &corev1.SchemeGroupVersion, clientgoscheme.Codecs.WithoutConversion()
	return rest.RESTClientFor(config)
}

// pods returns a client of the instances in pods.
func (c *cluster) pods() (*pods.Client, error) {
	config, err := c.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return pods.New(config)
}

// application connects to the cluster, and reads the NginxOperator of a name in the namespace of the command.
func (c *cluster) application(ctx context.Context, name string) (client.WithWatch, *v1alpha2.NginxOperator, error) {
	connected, namespace, err := c.connect()
	if err != nil {
		return nil, nil, err
	}
	nginx, err := find(ctx, connected, client.ObjectKey{Namespace: namespace, Name: name})
	return connected, nginx, err
}

// operatorClient returns a client for the operator's own objects, which have a namespace of their own.
func (c *cluster) operatorClient() (client.WithWatch, error) {
	if name := c.flags.Namespace; name != nil && *name != "" && *name != manifests.Namespace {
		return nil, fmt.Errorf("--namespace is %q, but the operator for all namespaces is in %s: leave the flag out; docs/installation.md tells how to install for one namespace", *name, manifests.Namespace)
	}
	connected, _, err := c.connect()
	return connected, err
}

// find reads an NginxOperator.
func find(ctx context.Context, c client.Client, key client.ObjectKey) (*v1alpha2.NginxOperator, error) {
	nginx := &v1alpha2.NginxOperator{}
	err := c.Get(ctx, key, nginx)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no NginxOperator %s in namespace %s: kubectl nginx list -A shows all: %w", key.Name, key.Namespace, err)
	case meta.IsNoMatchError(err):
		return nil, fmt.Errorf("the cluster has no NginxOperators: install the operator first: %w", err)
	}
	return nginx, err
}
