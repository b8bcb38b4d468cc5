package uninstall

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/plugin/installation"
	"example.com/nginx-operator/internal/plugin/screen"
)

// pollInterval is between two looks at what is still being deleted.
const pollInterval = 2 * time.Second

// Uninstaller removes the operator.
type Uninstaller struct {
	Client client.Client
	Out    io.Writer
	// DryRun has the API server check every deletion, and deletes nothing.
	DryRun bool
}

// Read reads what the cluster has.
func (u *Uninstaller) Read(ctx context.Context) (Present, error) {
	p := Present{Objects: map[schema.GroupKind][]metav1.PartialObjectMetadata{}}
	var err error
	if p.Operators, err = installation.Find(ctx, u.Client); err != nil {
		return p, err
	}
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := u.Client.List(ctx, definitions); err != nil {
		return p, err
	}
	p.Definitions = slices.DeleteFunc(definitions.Items, func(d apiextensionsv1.CustomResourceDefinition) bool {
		return !slices.Contains([]string{applicationGroup, cacheGroup, backupGroup}, d.Spec.Group)
	})
	for _, kind := range slices.Concat(applicationKinds, backupKinds) {
		if p.Objects[kind], err = u.list(ctx, kind); err != nil {
			return p, err
		}
	}
	return p, nil
}

// list reads the objects of a kind. A cluster without the kind has none.
func (u *Uninstaller) list(ctx context.Context, kind schema.GroupKind) ([]metav1.PartialObjectMetadata, error) {
	mapping, err := u.Client.RESTMapper().RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := u.Client.List(ctx, found); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("list %s: %w", mapping.Resource.GroupResource(), err)
	}
	for i := range found.Items {
		found.Items[i].SetGroupVersionKind(mapping.GroupVersionKind)
	}
	return found.Items, nil
}

// Run deletes what a plan has, each part after the one before it is gone.
func (u *Uninstaller) Run(ctx context.Context, plan *Plan) error {
	for _, note := range plan.Notes {
		if _, err := fmt.Fprintln(u.Out, screen.Safe("note: "+note)); err != nil {
			return err
		}
	}
	for _, kind := range plan.Kinds {
		if err := u.deleteKind(ctx, kind); err != nil {
			return err
		}
	}
	for _, name := range plan.Definitions {
		definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := u.delete(ctx, definition, "CustomResourceDefinition"); err != nil {
			return err
		}
		if err := u.waitGone(ctx, definition, "CustomResourceDefinition"); err != nil {
			return err
		}
	}
	return u.deleteOperator(ctx, plan.Objects)
}

// deleteOperator deletes the operator's own objects. The namespace is the last one, and its contents take a moment.
func (u *Uninstaller) deleteOperator(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		isNamespace := object.GetKind() == "Namespace"
		if isNamespace {
			if keep, err := u.keeps(ctx, object.GetName()); keep || err != nil {
				return err
			}
		}
		if err := u.delete(ctx, object, object.GetKind()); err != nil {
			return err
		}
		if !isNamespace {
			continue
		}
		if err := u.waitGone(ctx, object, object.GetKind()); err != nil {
			return err
		}
	}
	return nil
}

// keeps reports whether a namespace must stay because it holds PersistentVolumeClaims, and prints their names.
func (u *Uninstaller) keeps(ctx context.Context, namespace string) (bool, error) {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := u.Client.List(ctx, claims, client.InNamespace(namespace)); err != nil || len(claims.Items) == 0 {
		return false, err
	}
	names := make([]string, 0, len(claims.Items))
	for i := range claims.Items {
		names = append(names, claims.Items[i].Name)
	}
	_, err := fmt.Fprintln(u.Out, screen.Safe(fmt.Sprintf("Namespace %s stays, because it has PersistentVolumeClaims: %s: delete the namespace when you no longer need them", namespace, strings.Join(names, ", "))))
	return true, err
}

// deleteKind deletes all objects of a kind, and waits until they are gone: the operator deletes what belongs to them.
func (u *Uninstaller) deleteKind(ctx context.Context, kind schema.GroupKind) error {
	objects, err := u.list(ctx, kind)
	if err != nil {
		return err
	}
	for i := range objects {
		if err := u.delete(ctx, &objects[i], kind.Kind); err != nil {
			return err
		}
	}
	for i := range objects {
		if err := u.waitGone(ctx, &objects[i], kind.Kind); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes an object with what belongs to it. An object that is gone already is no error.
func (u *Uninstaller) delete(ctx context.Context, object client.Object, kind string) error {
	options, suffix := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}, ""
	if u.DryRun {
		options, suffix = append(options, client.DryRunAll), " (dry run)"
	}
	result := "deleted"
	err := u.Client.Delete(ctx, object, options...)
	if apierrors.IsNotFound(err) {
		result = "is not there"
	} else if err != nil {
		return fmt.Errorf("%s %s: %w", kind, nameOf(object), err)
	}
	_, err = fmt.Fprintln(u.Out, screen.Safe(kind+" "+nameOf(object)+" "+result+suffix))
	return err
}

func nameOf(object client.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// waitGone waits until an object is gone.
func (u *Uninstaller) waitGone(ctx context.Context, object client.Object, kind string) error {
	if u.DryRun {
		return nil
	}
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		err := u.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s is still being deleted: see docs/installation.md, Uninstalling, and run the command again to continue", kind, nameOf(object))
	}
	return err
}
