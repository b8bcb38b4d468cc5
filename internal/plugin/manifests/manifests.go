// Package manifests renders the objects that install the operator for all namespaces, as install.yaml of the release has
// them. It is pure.
package manifests

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/config"
)

// Names in the manifests.
const (
	Namespace  = "nginx-operator-system"
	Deployment = "nginx-operator"
	// VersionLabel is on every object of a release.
	VersionLabel = "app.kubernetes.io/version"
)

// Options are what differs between clusters.
type Options struct {
	// Image is the operator's image, and Version the release.
	Image, Version string
	// ImagePullSecrets are the names of Secrets for the registries of the operator's image and those of applications.
	ImagePullSecrets []string
}

// Render returns the objects in the order in which they are created.
func Render(o Options) ([]*unstructured.Unstructured, error) {
	objects, err := build()
	if err != nil {
		return nil, fmt.Errorf("render the manifests: %w", err)
	}
	for _, object := range objects {
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[VersionLabel] = o.Version
		object.SetLabels(labels)
		if object.GetKind() == "Deployment" {
			if err := setImage(object, o); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a.GetKind()), rank(b.GetKind())) })
	return objects, nil
}

// build renders the embedded kustomization.
func build() ([]*unstructured.Unstructured, error) {
	files := filesys.MakeFsInMemory()
	err := fs.WalkDir(config.Default, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := config.Default.ReadFile(name)
		if err != nil {
			return err
		}
		return files.WriteFile("/"+name, text)
	})
	if err != nil {
		return nil, err
	}
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/default")
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, resource := range rendered.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &object.Object); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// setImage sets the image of the operator's pods, and what pulls it.
func setImage(deployment *unstructured.Unstructured, o Options) error {
	containers, found, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || !found || len(containers) != 1 {
		return fmt.Errorf("the Deployment of the manifests has not one container: %w", err)
	}
	container, _ := containers[0].(map[string]any)
	container["image"] = o.Image
	if len(o.ImagePullSecrets) > 0 {
		env, _ := container["env"].([]any)
		container["env"] = append(env, map[string]any{"name": "IMAGE_PULL_SECRETS", "value": strings.Join(o.ImagePullSecrets, ",")})
		if err := unstructured.SetNestedSlice(deployment.Object, references(o.ImagePullSecrets), "spec", "template", "spec", "imagePullSecrets"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(deployment.Object, containers, "spec", "template", "spec", "containers")
}

func references(names []string) []any {
	var all []any
	for _, name := range names {
		all = append(all, map[string]any{"name": name})
	}
	return all
}

// kinds are in the order of creation: an object comes after those that it refers to.
var kinds = []string{"Namespace", "CustomResourceDefinition", "ServiceAccount", "Role", "ClusterRole", "RoleBinding",
	"ClusterRoleBinding", "Secret", "Service", "PodDisruptionBudget", "NetworkPolicy"}

// rank returns the place of a kind in that order. The Deployment is the last one.
func rank(kind string) int {
	if i := slices.Index(kinds, kind); i >= 0 {
		return i
	}
	return len(kinds)
}
