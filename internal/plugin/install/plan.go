// Package install applies the manifests of a release to a cluster.
package install

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"example.com/nginx-operator/internal/plugin/installation"
	"example.com/nginx-operator/internal/plugin/manifests"
)

// placeholder begins the images in released manifests.
const placeholder = "example.com/"

// CheckImage refuses an image that no node can pull.
func CheckImage(image, version string) error {
	const push = "push the operator's image to a registry that your nodes can pull from, and name it: --image=registry.example.com/nginx-operator:"
	switch {
	case image == "":
		return fmt.Errorf("--image is needed: %s%s", push, version)
	case strings.HasPrefix(image, placeholder):
		return fmt.Errorf("the image %s is the placeholder of the release: %s%s", image, push, version)
	case strings.ContainsAny(image, " \t\n\"'"):
		return fmt.Errorf("--image is %q: set it to the reference of an image, without spaces and quotes", image)
	}
	return nil
}

// present is what the cluster has before the installation.
type present struct {
	operators   []installation.Operator
	definitions map[string]*apiextensionsv1.CustomResourceDefinition
}

// refusal returns why the manifests of a release must not be applied, and what to do instead; nil: they may.
func (p present) refusal(version string, next []*apiextensionsv1.CustomResourceDefinition, allowDowngrade bool) error {
	ours, others := installation.Ours(p.operators)
	if len(others) > 0 {
		return foreign(others[0])
	}
	for _, definition := range next {
		installed := p.definitions[definition.Name]
		if installed == nil {
			continue
		}
		if lost := manifests.LostVersions(installed, definition); len(lost) > 0 {
			return fmt.Errorf("the CustomResourceDefinition %s may have objects stored as %s, which release %s does not have: install the release that does, and run `nginx-operator migrate-storage`",
				definition.Name, strings.Join(lost, ", "), version)
		}
	}
	if allowDowngrade {
		return nil
	}
	if ours != nil && installation.Newer(ours.Version, version) {
		return fmt.Errorf("release %s is installed, which is newer than %s: use the plugin of that release, or --allow-downgrade", ours.Version, version)
	}
	return p.lostFields(version, next)
}

// lostFields refuses definitions without fields that the cluster's have.
func (p present) lostFields(version string, next []*apiextensionsv1.CustomResourceDefinition) error {
	for _, definition := range next {
		installed := p.definitions[definition.Name]
		if installed == nil {
			continue
		}
		if lost := manifests.LostFields(installed, definition); len(lost) > 0 {
			return fmt.Errorf("the CustomResourceDefinition %s has what release %s does not: %s. Objects would lose it. Use the plugin of the installed release, or --allow-downgrade",
				definition.Name, version, list(lost, 5))
		}
	}
	return nil
}

// foreign says what to do with an operator that was installed in another way.
func foreign(o installation.Operator) error {
	where := o.Deployment.Namespace + "/" + o.Deployment.Name
	switch {
	case o.Method == installation.Helm:
		return fmt.Errorf("the operator %s was installed with Helm: upgrade it with helm upgrade %s nginx-operator-VERSION.tgz -n %s --reset-then-reuse-values", where, o.HelmRelease, o.Deployment.Namespace)
	case o.Method == installation.OLM:
		return fmt.Errorf("the operator %s was installed with the Operator Lifecycle Manager: upgrade it with its Subscription in namespace %s", where, o.Deployment.Namespace)
	case len(o.Namespaces) > 0:
		return fmt.Errorf("the operator %s is installed for the namespaces %s, and one for all namespaces would manage the same objects: uninstall it first", where, list(o.Namespaces, 5))
	}
	return fmt.Errorf("another operator is installed as %s, and two would manage the same objects: uninstall it first", where)
}

// list joins texts, and counts those after the first ones.
func list(texts []string, limit int) string {
	if len(texts) <= limit {
		return strings.Join(texts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(texts[:limit], ", "), len(texts)-limit)
}
