package view

import (
	"context"
	"slices"

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
)

// Tree is an application with the objects that belong to it.
type Tree struct {
	Root    unstructured.Unstructured   `json:"root"`
	Objects []unstructured.Unstructured `json:"objects"`
	// Forbidden are the resources that the user may not read.
	Forbidden []string `json:"forbidden,omitempty"`
}

// Belonging returns the kinds of the objects that belong to an application.
func Belonging() []schema.GroupVersionKind {
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

// ReadTree reads the objects that belong to an application. Kinds that the cluster lacks have none.
func ReadTree(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (*Tree, error) {
	root, err := runtime.DefaultUnstructuredConverter.ToUnstructured(nginx)
	if err != nil {
		return nil, err
	}
	tree := &Tree{Root: unstructured.Unstructured{Object: root}}
	tree.Root.SetKind(v1alpha2.Kind)
	for _, kind := range Belonging() {
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
