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
	"k8s.io/apimachinery/pkg/runtime"
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
			connected, nginx, err := c.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			tree, err := readTree(cmd.Context(), connected, nginx)
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
func readTree(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (*screen.Tree, error) {
	root, err := runtime.DefaultUnstructuredConverter.ToUnstructured(nginx)
	if err != nil {
		return nil, err
	}
	tree := &screen.Tree{Root: unstructured.Unstructured{Object: root}}
	tree.Root.SetKind(v1alpha2.Kind)
	for _, kind := range belonging() {
		found := &unstructured.UnstructuredList{}
		found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := c.List(ctx, found, client.InNamespace(nginx.Namespace), client.MatchingLabels(naming.SelectorLabels(nginx.Name)))
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
