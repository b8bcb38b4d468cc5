package bundle

import (
	"fmt"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
)

// validators are all of operator-framework/api that look at bundles, but the one of
// architectures: it asks a registry for the images.
var validators = []struct {
	name string
	validator.Validator
}{
	{"bundle", validation.BundleValidator},
	{"cluster service version", validation.ClusterServiceVersionValidator},
	{"custom resource definition", validation.CustomResourceDefinitionValidator},
	{"OperatorHub.io", validation.OperatorHubV2Validator},
	{"standard categories", validation.StandardCategoriesValidator},
	{"standard capabilities", validation.StandardCapabilitiesValidator},
	{"good practices", validation.GoodPracticesValidator},
	{"objects", validation.ObjectValidator},
	{"deprecated APIs", validation.AlphaDeprecatedAPIsValidator},
}

// Finding is what a validator says of a bundle.
type Finding struct {
	Validator string
	// Errors have to be corrected, warnings need not.
	Errors, Warnings []string
}

// Validate holds the bundle in a folder against the published rules. kubeVersion is the
// Kubernetes whose removed APIs are looked for.
func Validate(dir, kubeVersion string) ([]Finding, error) {
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return nil, fmt.Errorf("load the bundle: %w", err)
	}
	objects := append(bundle.ObjectsToValidate(), map[string]string{"k8s-version": kubeVersion})
	var findings []Finding
	for _, v := range validators {
		finding := Finding{Validator: v.name}
		for _, result := range v.Validate(objects...) {
			finding.Errors = append(finding.Errors, texts(result.Errors)...)
			finding.Warnings = append(finding.Warnings, texts(result.Warnings)...)
		}
		findings = append(findings, finding)
	}
	return findings, nil
}

func texts(results []errors.Error) []string {
	var all []string
	for _, result := range results {
		all = append(all, result.Error())
	}
	return all
}
