package bundle

import (
	"fmt"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
)

// validators are all validators of bundles in operator-framework/api, except for the one of
// architectures, which requests the images from a registry.
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

// Finding is what a validator reports about a bundle.
type Finding struct {
	Validator string
	// Errors must be corrected, Warnings need not.
	Errors, Warnings []string
}

// Validate checks the bundle in a folder against the published rules. kubeVersion is the Kubernetes
// version for the check of removed APIs.
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
