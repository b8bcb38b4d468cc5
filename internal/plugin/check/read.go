package check

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/installation"
	"example.com/nginx-operator/internal/plugin/manifests"
)

// Read reads what the checks evaluate, with the user's own rights.
func Read(ctx context.Context, c client.Client, server discovery.ServerVersionInterface, release string) (*Cluster, error) {
	objects, err := manifests.Render(manifests.Options{Version: release})
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{Now: time.Now(), Release: release, Unread: map[string]error{}, Definitions: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	version, err := server.ServerVersion()
	if err != nil {
		return nil, err
	}
	cluster.Kubernetes = version.GitVersion
	if cluster.Needed, err = manifests.Definitions(objects); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		what string
		read func() error
	}{
		{Rights, func() error { return cluster.readRights(ctx, c, objects) }},
		{Operators, func() (err error) { cluster.Operators, err = installation.Find(ctx, c); return err }},
		{Definitions, func() error { return cluster.readDefinitions(ctx, c) }},
		{Leases, func() error { return cluster.readLeases(ctx, c) }},
		{Applications, func() error { return cluster.readApplications(ctx, c) }},
	} {
		if err := part.read(); err != nil {
			cluster.Unread[part.what] = err
		}
	}
	if converts(cluster) {
		cluster.Conversion = convert(ctx, c)
	}
	return cluster, ctx.Err()
}

func (c *Cluster) readDefinitions(ctx context.Context, reader client.Reader) error {
	for _, needed := range c.Needed {
		found := &apiextensionsv1.CustomResourceDefinition{}
		err := reader.Get(ctx, client.ObjectKeyFromObject(needed), found)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		c.Definitions[needed.Name] = found
	}
	return nil
}

// readLeases reads the lease of each operator.
func (c *Cluster) readLeases(ctx context.Context, reader client.Reader) error {
	c.Leases = map[string]*coordinationv1.Lease{}
	for _, namespace := range c.namespaces() {
		lease := &coordinationv1.Lease{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: manifests.Deployment}, lease)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			c.Leases[namespace] = lease
		}
	}
	return nil
}

func (c *Cluster) readApplications(ctx context.Context, reader client.Reader) error {
	found := &v1alpha2.NginxOperatorList{}
	err := reader.List(ctx, found, client.Limit(Limit))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	c.Applications = found.Items
	return err
}

// readRights asks which rights the user lacks to install the objects.
func (c *Cluster) readRights(ctx context.Context, reviews client.Client, objects []*unstructured.Unstructured) error {
	rights, err := needed(reviews.RESTMapper(), objects)
	if err != nil {
		return err
	}
	for _, right := range rights {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		if err := reviews.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			c.Missing = append(c.Missing, fmt.Sprintf("%s %s", right.Verb, schema.GroupResource{Group: right.Group, Resource: right.Resource}))
		}
	}
	return nil
}

// needed returns the rights that an installation of the objects needs.
func needed(mapper meta.RESTMapper, objects []*unstructured.Unstructured) ([]authorizationv1.ResourceAttributes, error) {
	// The operator's roles have rights that the user who creates them must have as well, or be allowed to grant.
	rights := []authorizationv1.ResourceAttributes{
		{Verb: "list", Group: "apps", Resource: "deployments"},
		{Verb: "escalate", Group: "rbac.authorization.k8s.io", Resource: "clusterroles"},
	}
	seen := map[schema.GroupKind]bool{}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		if seen[kind.GroupKind()] {
			continue
		}
		seen[kind.GroupKind()] = true
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, err
		}
		for _, verb := range []string{"get", "create", "patch"} {
			rights = append(rights, authorizationv1.ResourceAttributes{
				Verb: verb, Group: kind.Group, Resource: mapping.Resource.Resource, Namespace: object.GetNamespace(),
			})
		}
	}
	return rights, nil
}

// convert has the API server check a v1alpha1 object, which the webhook must convert first, and creates none.
func convert(ctx context.Context, c client.Client) error {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"port": int64(8080)}}}
	object.SetGroupVersionKind(schema.GroupVersion{Group: v1alpha2.GroupVersion.Group, Version: "v1alpha1"}.WithKind(v1alpha2.Kind))
	object.SetNamespace(metav1.NamespaceDefault)
	object.SetGenerateName("kubectl-nginx-check-")
	return c.Create(ctx, object, client.DryRunAll)
}
