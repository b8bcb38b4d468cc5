package campaign

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/property"
)

// Specimen is an object whose fields are changed, one at a time.
type Specimen struct {
	// Object by its kind and name.
	Object journey.Object `json:"object"`
	// Given are objects that it refers to.
	Given []map[string]any `json:"given,omitempty"`
	// Seeds are specs that together have every object, list and map of the schema.
	Seeds []map[string]any `json:"seeds,omitempty"`
	// Unready are the seeds, by their numbers, that the cluster never runs, each with the reason why.
	Unready map[int]string `json:"unready,omitempty"`
	// Owned are the kinds that the operator makes objects of.
	Owned []string `json:"owned,omitempty"`
	// Examples are further values of fields, by their paths in the schema.
	Examples map[string][]any `json:"examples,omitempty"`
	// Shown are the operations, by their names, that the API server is only asked about, each with the
	// reason why.
	Shown map[string]string `json:"shown,omitempty"`
	// Exclusive is a pattern of the fields whose values one object of a cluster can have at a time.
	Exclusive string `json:"exclusive,omitempty"`
	// Silent is a pattern of the fields that show nowhere but in the object itself.
	Silent string `json:"silent,omitempty"`
	// Derived is a pattern of objects, and of fields of them, in which no value shows although it is somewhere in
	// them: hashes, numbers, and what others make.
	Derived string `json:"derived,omitempty"`
	// Past is a pattern of what tells how something came about, and not how it is.
	Past string `json:"past,omitempty"`

	exclusive, silent, derived, past *regexp.Regexp
}

// seedName is the name of the cases of a seed, in the place of a journey.
func seedName(n int) string { return fmt.Sprintf("seed-%d", n) }

// study is a specimen with what is done to it.
type study struct {
	of    *Specimen
	stage *Stage
	// crowd has the namespaces of the cases that are played.
	crowd *crowd
	// playable are the seeds of random cases, steps their operations.
	playable []int
	steps    []*property.Operation
	// leaves are the fields that hold something.
	leaves     []string
	operations []property.Operation
	// goldens are what the seeds become.
	goldens []*Golden
	// tried are the leaves that were to be changed, each with whether the API server has taken a change.
	tried sync.Map
	// alone is held by who changes a field that is exclusive.
	alone sync.Mutex
}

// Coverage is how many fields of the specimen were to be changed, and how many of them the API server let be changed,
// of how many.
func (r *Report) Coverage() (tried, changed, of int) {
	if r.specimen == nil {
		return 0, 0, 0
	}
	leaves := map[string]bool{}
	for _, leaf := range r.specimen.leaves {
		leaves[leaf] = true
	}
	r.specimen.tried.Range(func(leaf, taken any) bool {
		if leaves[leaf.(string)] {
			tried++
			if taken.(bool) {
				changed++
			}
		}
		return true
	})
	return tried, changed, len(leaves)
}

// newStudy finds all operations on a specimen.
func (s *Stage) newStudy(ctx context.Context, of *Specimen) (*study, error) {
	schema, err := s.schema(ctx, of.Object)
	if err != nil {
		return nil, err
	}
	all, bare := property.Operations(schema, of.Seeds, of.Examples)
	if len(bare) > 0 {
		return nil, fmt.Errorf("no seed has an object with the fields %s: add one", strings.Join(bare, ", "))
	}
	if of.exclusive, err = regexp.Compile(cmp.Or(of.Exclusive, "^$")); err != nil {
		return nil, fmt.Errorf("exclusive: %w", err)
	}
	if of.silent, err = regexp.Compile(of.Silent); err != nil {
		return nil, fmt.Errorf("silent: %w", err)
	}
	if of.derived, err = regexp.Compile(cmp.Or(of.Derived, "^$")); err != nil {
		return nil, fmt.Errorf("derived: %w", err)
	}
	if of.past, err = regexp.Compile(of.Past); err != nil {
		return nil, fmt.Errorf("past: %w", err)
	}
	p := &study{of: of, stage: s, leaves: property.Leaves(schema, "spec"), operations: all}
	p.arrange()
	return p, nil
}

// arrange finds what random cases are made of: operations that have the same effect whatever was
// before, and seeds that there are some of.
func (p *study) arrange() {
	for i := range p.operations {
		o := &p.operations[i]
		if p.of.Unready[o.Seed] != "" || p.of.Shown[o.Name()] != "" || p.of.silent.MatchString(o.Leaf) || p.of.exclusive.MatchString(o.Leaf) {
			continue
		}
		p.steps = append(p.steps, o)
		if !slices.Contains(p.playable, o.Seed) {
			p.playable = append(p.playable, o.Seed)
		}
	}
}

// schema is that of the spec of a kind, as the API server has it.
func (s *Stage) schema(ctx context.Context, object journey.Object) (*property.Schema, error) {
	kind, err := s.kind(object.Kind, object.Version)
	if err != nil {
		return nil, err
	}
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := s.client.List(ctx, crds); err != nil {
		return nil, err
	}
	for _, crd := range crds.Items {
		for _, v := range crd.Spec.Versions {
			if crd.Spec.Group == kind.Group && crd.Spec.Names.Kind == kind.Kind && v.Name == kind.Version {
				return new(v.Schema.OpenAPIV3Schema.Properties["spec"]), nil
			}
		}
	}
	return nil, fmt.Errorf("%s is no kind of a CustomResourceDefinition", kind)
}
