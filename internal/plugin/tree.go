package plugin

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/plugin/screen"
)

func newTree(c *cluster) *cobra.Command {
	return &cobra.Command{
		Use:   "tree NAME",
		Short: "Show the objects that belong to an application",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			connected, namespace, err := c.connect()
			if err != nil {
				return err
			}
			tree, err := readTree(cmd.Context(), connected, client.ObjectKey{Namespace: namespace, Name: args[0]})
			if err != nil {
				return err
			}
			return tree.Show(cmd.OutOrStdout(), time.Now())
		},
	}
}

// belonging returns the kinds of the objects that belong to an application.
func belonging() []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
		appsv1.SchemeGroupVersion.WithKind("ControllerRevision"),
		corev1.SchemeGroupVersion.WithKind("Pod"),
	}
	for _, kind := range desired.Kinds(application.KindDeployment) {
		if !slices.Contains(kinds, kind.GVK) {
			kinds = append(kinds, kind.GVK)
		}
	}
	return kinds
}

// readTree reads the objects that belong to an application. Kinds that the cluster lacks have none.
func readTree(ctx context.Context, c client.Client, key client.ObjectKey) (*screen.Tree, error) {
	if _, err := find(ctx, c, key); err != nil {
		return nil, err
	}
	tree := &screen.Tree{}
	tree.Root.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
	if err := c.Get(ctx, key, &tree.Root); err != nil {
		return nil, err
	}
	for _, kind := range belonging() {
		found := &unstructured.UnstructuredList{}
		found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := c.List(ctx, found, client.InNamespace(key.Namespace), client.MatchingLabels(naming.SelectorLabels(key.Name)))
		switch {
		case meta.IsNoMatchError(err):
		case apierrors.IsForbidden(err):
			tree.Forbidden = append(tree.Forbidden, kind.Kind)
		case err != nil:
			return nil, err
		}
		tree.Objects = append(tree.Objects, slices.DeleteFunc(found.Items, retired)...)
	}
	return tree, nil
}

// retired reports whether an object is a ReplicaSet of an earlier rollout, which has no pods.
func retired(object unstructured.Unstructured) bool {
	replicas, found, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
	return object.GetKind() == "ReplicaSet" && found && replicas == 0
}
