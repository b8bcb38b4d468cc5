// Package installation finds the operators of a cluster, and how each was installed.
package installation

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/plugin/manifests"
)

// Method is a way of installing the operator.
type Method string

// The methods.
const (
	Manifests Method = "manifests"
	Helm      Method = "Helm"
	OLM       Method = "the Operator Lifecycle Manager"
)

// Operator is an installed operator.
type Operator struct {
	Deployment appsv1.Deployment
	Method     Method
	// Version is the release; empty: unknown.
	Version string
	Image   string
	// HelmRelease is the name of Helm's release.
	HelmRelease string
	// Namespaces are those that it is confined to; empty: all.
	Namespaces []string
}

// labels are those of the operator's Deployment, however it was installed.
var labels = client.MatchingLabels{"app.kubernetes.io/name": "nginx-operator", "app.kubernetes.io/component": "manager"}

// Find reads the operators of all namespaces.
func Find(ctx context.Context, c client.Reader) ([]Operator, error) {
	found := &appsv1.DeploymentList{}
	if err := c.List(ctx, found, labels); err != nil {
		return nil, err
	}
	var operators []Operator
	for _, deployment := range found.Items {
		operators = append(operators, Of(deployment))
	}
	return operators, nil
}

// Of returns what a Deployment says about the operator in it.
func Of(d appsv1.Deployment) Operator {
	o := Operator{Deployment: d, Method: methodOf(&d), Version: d.Labels[manifests.VersionLabel], HelmRelease: d.Annotations["meta.helm.sh/release-name"]}
	for _, container := range d.Spec.Template.Spec.Containers {
		if container.Name != manifests.Deployment {
			continue
		}
		o.Image = container.Image
		for _, argument := range container.Args {
			if names, found := strings.CutPrefix(argument, "--namespaces="); found && names != "" {
				o.Namespaces = strings.Split(strings.ReplaceAll(names, "$(POD_NAMESPACE)", d.Namespace), ",")
			}
		}
	}
	if o.Version == "" {
		o.Version = versionOf(o.Image)
	}
	return o
}

func methodOf(d *appsv1.Deployment) Method {
	switch {
	case d.Labels["olm.owner"] != "":
		return OLM
	case d.Labels["app.kubernetes.io/managed-by"] == "Helm":
		return Helm
	}
	return Manifests
}

// versionOf returns the version in the tag of an image, or an empty text.
func versionOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	tag := image[strings.LastIndex(image, ":")+1:]
	if _, err := version.ParseSemantic(tag); err != nil {
		return ""
	}
	return tag
}

// Newer reports whether a version is newer than another one. A version that is no release is not.
func Newer(a, b string) bool {
	first, err := version.ParseSemantic(a)
	if err != nil {
		return false
	}
	second, err := version.ParseSemantic(b)
	return err == nil && second.LessThan(first)
}

// Ready reports whether all pods of the operator are ready and of its present template.
func (o *Operator) Ready() bool {
	wanted, s := int32(1), o.Deployment.Status
	if o.Deployment.Spec.Replicas != nil {
		wanted = *o.Deployment.Spec.Replicas
	}
	return s.ObservedGeneration >= o.Deployment.Generation && s.UpdatedReplicas == wanted && s.AvailableReplicas == wanted && s.Replicas == wanted
}

// Ours returns the operator that the manifests of a release install, and the others.
func Ours(operators []Operator) (ours *Operator, others []Operator) {
	for i, o := range operators {
		if o.Method == Manifests && o.Deployment.Namespace == manifests.Namespace && o.Deployment.Name == manifests.Deployment && len(o.Namespaces) == 0 {
			ours = &operators[i]
			continue
		}
		others = append(others, o)
	}
	return ours, slices.Clip(others)
}
