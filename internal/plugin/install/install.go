package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/plugin/edits"
	"example.com/nginx-operator/internal/plugin/installation"
	"example.com/nginx-operator/internal/plugin/manifests"
	"example.com/nginx-operator/internal/plugin/screen"
)

// Installer installs a release.
type Installer struct {
	Client  client.Client
	Out     io.Writer
	Version string
	// DryRun has the API server check every object, and changes none.
	DryRun bool
	// ForceConflicts takes fields over from other field managers.
	ForceConflicts bool
	AllowDowngrade bool
}

// Apply installs or upgrades. It changes nothing unless the API server accepts every object.
func (i *Installer) Apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	if err := i.checkPresent(ctx, objects); err != nil {
		return err
	}
	results, err := i.rehearse(ctx, objects)
	if err != nil {
		return err
	}
	for n, object := range objects {
		result := results[n]
		if !i.DryRun {
			if result, err = i.send(ctx, object, false); err != nil {
				return fmt.Errorf("%w; run the command again to continue", err)
			}
		}
		if err := i.print(object, result); err != nil {
			return err
		}
	}
	return nil
}

// checkPresent compares the release with what is installed.
func (i *Installer) checkPresent(ctx context.Context, objects []*unstructured.Unstructured) error {
	operators, err := installation.Find(ctx, i.Client)
	if err != nil {
		return err
	}
	next, err := manifests.Definitions(objects)
	if err != nil {
		return err
	}
	p := present{operators: operators, definitions: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	for _, definition := range next {
		installed := &apiextensionsv1.CustomResourceDefinition{}
		err := i.Client.Get(ctx, client.ObjectKeyFromObject(definition), installed)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return err
		case installed.DeletionTimestamp != nil:
			return fmt.Errorf("the CustomResourceDefinition %s is being deleted, and new objects would be deleted with it: wait until it is gone", definition.Name)
		}
		p.definitions[definition.Name] = installed
	}
	return p.refusal(i.Version, next, i.AllowDowngrade)
}

// rehearse sends every object as a dry run. An object in a namespace that does not exist yet cannot be checked.
func (i *Installer) rehearse(ctx context.Context, objects []*unstructured.Unstructured) ([]string, error) {
	results := make([]string, len(objects))
	created := map[string]bool{}
	var problems []error
	for n, object := range objects {
		if created[object.GetNamespace()] {
			results[n] = "created"
			continue
		}
		result, err := i.send(ctx, object, true)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if results[n] = result; object.GetKind() == "Namespace" && result == "created" {
			created[object.GetName()] = true
		}
	}
	if more := len(problems) - 1; more > 0 {
		return nil, fmt.Errorf("%w; %d more objects are refused", problems[0], more)
	}
	return results, errors.Join(problems...)
}

// send applies an object, and returns what that changes.
func (i *Installer) send(ctx context.Context, object *unstructured.Unstructured, dryRun bool) (string, error) {
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(object.GroupVersionKind())
	err := i.Client.Get(ctx, client.ObjectKeyFromObject(object), before)
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return "", err
	}
	options := []client.ApplyOption{client.FieldOwner(edits.FieldOwner)}
	if dryRun {
		options = append(options, client.DryRunAll)
	}
	if i.ForceConflicts {
		options = append(options, client.ForceOwnership)
	}
	after := object.DeepCopy()
	if err := i.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(after), options...); err != nil {
		return "", explain(object, err)
	}
	switch {
	case absent:
		return "created", nil
	case reflect.DeepEqual(content(before), content(after)):
		return "unchanged", nil
	}
	return "configured", nil
}

// content returns an object without what the API server counts.
func content(object *unstructured.Unstructured) map[string]any {
	copied := object.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(copied.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(copied.Object, "status")
	return copied.Object
}

// explain adds what to do about an error.
func explain(object *unstructured.Unstructured, err error) error {
	err = fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%w; --force-conflicts takes these fields over", err)
	}
	return err
}

func (i *Installer) print(object *unstructured.Unstructured, result string) error {
	if i.DryRun {
		result += " (dry run)"
	}
	_, err := fmt.Fprintln(i.Out, screen.Safe(object.GetKind()+" "+object.GetName()+" "+result))
	return err
}

// Render returns objects as YAML documents in their order.
func Render(objects []*unstructured.Unstructured) ([]byte, error) {
	var documents [][]byte
	for _, object := range objects {
		text, err := encode(object)
		if err != nil {
			return nil, err
		}
		documents = append(documents, []byte("---\n"), text)
	}
	return slices.Concat(documents...), nil
}
