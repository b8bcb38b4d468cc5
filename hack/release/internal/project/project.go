// Package project reads the version and the manifests of config/, from which all packages are
// built.
package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Names that the manifests of config/ use.
const (
	Name      = "nginx-operator"
	Namespace = "nginx-operator-system"
	// Domain is the suffix of the API groups of the operator's own kinds.
	Domain = "operator.example.com"
)

// Project is a checkout of the repository.
type Project struct {
	Root string
	// Version is the content of the file VERSION, without a leading v.
	Version string
	Release Release
}

// Release is the content of hack/release/release.yaml.
type Release struct {
	// Image is the repository of the operator's image: a placeholder.
	Image string `json:"image"`
	// Platforms are the platforms to build images for.
	Platforms []string `json:"platforms"`
	// PluginPlatforms are the platforms to build the kubectl plugin for.
	PluginPlatforms []string `json:"pluginPlatforms"`
	// Homepage is the page of the project, and Downloads the folder of its releases: placeholders.
	Homepage  string `json:"homepage"`
	Downloads string `json:"downloads"`
	// Replaces is the previous version, and SkipFrom the oldest one that can be upgraded in one
	// step.
	Replaces string `json:"replaces"`
	SkipFrom string `json:"skipFrom"`
	// MinKubeVersion is the oldest Kubernetes whose API has everything that the manifests use,
	// enabled by default.
	MinKubeVersion string `json:"minKubeVersion"`
	Channel        string `json:"channel"`
	// CreatedAt is the day of the release.
	CreatedAt string `json:"createdAt"`
}

// Open reads the version of the checkout at root.
func Open(root string) (*Project, error) {
	p := &Project{Root: root}
	text, err := os.ReadFile(p.Path("VERSION"))
	if err != nil {
		return nil, err
	}
	p.Version = strings.TrimSpace(string(text))
	if p.Version == "" || strings.HasPrefix(p.Version, "v") {
		return nil, fmt.Errorf("VERSION contains %q: it must be a version without a leading v, such as 1.2.3", p.Version)
	}
	about, err := os.ReadFile(p.Path("hack/release/release.yaml"))
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(about, &p.Release); err != nil {
		return nil, fmt.Errorf("hack/release/release.yaml: %w", err)
	}
	return p, nil
}

// Path returns the path of a file of the checkout.
func (p *Project) Path(name string) string { return filepath.Join(p.Root, filepath.FromSlash(name)) }

// Image returns the operator's image in released manifests, which is a placeholder.
func (p *Project) Image() string { return p.Release.Image + ":" + p.Version }

// RenderKustomization renders a kustomization of config/, with the placeholder as the operator's image.
func (p *Project) RenderKustomization(kustomization string) ([]Object, error) {
	options := krusty.MakeDefaultOptions()
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), p.Path(kustomization))
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", kustomization, err)
	}
	var objects []Object
	for _, resource := range resources.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		var object Object
		if err := yaml.Unmarshal(text, &object); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, p.setImage(objects)
}

// setImage sets the placeholder as the image of all containers that run the operator's image.
func (p *Project) setImage(objects []Object) error {
	for _, object := range objects {
		found, err := object.Get("spec.template.spec.containers")
		if err != nil {
			// The object has no pods.
			continue
		}
		for _, c := range found.([]any) {
			container := c.(map[string]any)
			if name, _, _ := strings.Cut(container["image"].(string), ":"); name != Name {
				return fmt.Errorf("%s has the image %s, not the operator's", object.ID(), container["image"])
			}
			container["image"] = p.Image()
		}
	}
	return nil
}
