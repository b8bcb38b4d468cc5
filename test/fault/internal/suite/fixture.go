package suite

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

// Fixture is an object whose fields are changed one at a time.
type Fixture struct {
	// Object is the object's kind and name.
	Object journey.Object `json:"object"`
	// Given are the objects that it refers to.
	Given []map[string]any `json:"given,omitempty"`
	// Seeds are specs that together have every object, list and map of the schema.
	Seeds []map[string]any `json:"seeds,omitempty"`
	// Unready are the indices of seeds that cannot become ready in this cluster, each with the
	// reason.
	Unready map[int]string `json:"unready,omitempty"`
	// Owned are the kinds of objects that the operator creates.
	Owned []string `json:"owned,omitempty"`
	// Examples are additional values for fields, by their paths in the schema.
	Examples map[string][]any `json:"examples,omitempty"`
	// Shown are the names of operations that are only dry-run against the API server, each with the
	// reason.
	Shown map[string]string `json:"shown,omitempty"`
	// Exclusive matches the fields whose values only one object in a cluster can have at a time.
	Exclusive string `json:"exclusive,omitempty"`
	// Silent matches the fields that show only in the object itself.
	Silent string `json:"silent,omitempty"`
	// Derived matches objects, and fields of objects, in which a value does not count as shown even
	// if it occurs there: hashes, numbers, and what other clients create.
	Derived string `json:"derived,omitempty"`
	// Held matches the reasons of an object that is not ready because its user holds back what is declared.
	Held string `json:"held,omitempty"`
	// Past matches what depends on earlier states.
	Past string `json:"past,omitempty"`

	exclusive, silent, derived, held, past *regexp.Regexp
}

// seedName returns the name that cases of a seed have in place of a journey.
func seedName(n int) string { return fmt.Sprintf("seed-%d", n) }

// study is a fixture with the operations on it.
type study struct {
	of    *Fixture
	stage *Stage
	// pool has the namespaces of the cases.
	pool *namespacePool
	// walkSeeds are the seeds of random cases, and steps their operations.
	walkSeeds []int
	steps     []*property.Operation
	// leaves are the fields that hold something themselves.
	leaves     []string
	operations []property.Operation
	// goldens are the golden ends of the seeds.
	goldens []*Golden
	// tried has the leaves that were tried, each with whether the API server accepted a change.
	tried sync.Map
	// alone is locked while an exclusive field is changed.
	alone sync.Mutex
}

// Coverage returns how many fields of the fixture were tried, how many of them the API server let
// change, and how many fields there are.
func (r *Report) Coverage() (tried, changed, of int) {
	if r.fixture == nil {
		return 0, 0, 0
	}
	leaves := map[string]bool{}
	for _, leaf := range r.fixture.leaves {
		leaves[leaf] = true
	}
	r.fixture.tried.Range(func(leaf, taken any) bool {
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

// newStudy finds all operations on a fixture.
func (s *Stage) newStudy(ctx context.Context, of *Fixture) (*study, error) {
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
	if of.held, err = regexp.Compile(cmp.Or(of.Held, "^$")); err != nil {
		return nil, fmt.Errorf("held: %w", err)
	}
	if of.past, err = regexp.Compile(of.Past); err != nil {
		return nil, fmt.Errorf("past: %w", err)
	}
	p := &study{of: of, stage: s, leaves: property.Leaves(schema, "spec"), operations: all}
	p.arrange()
	return p, nil
}

// arrange selects what random cases use: the operations whose effect does not depend on earlier
// states, and the seeds that have such operations.
func (p *study) arrange() {
	for i := range p.operations {
		o := &p.operations[i]
		if p.of.Unready[o.Seed] != "" || p.of.Shown[o.Name()] != "" || p.of.silent.MatchString(o.Leaf) || p.of.exclusive.MatchString(o.Leaf) {
			continue
		}
		p.steps = append(p.steps, o)
		if !slices.Contains(p.walkSeeds, o.Seed) {
			p.walkSeeds = append(p.walkSeeds, o.Seed)
		}
	}
}

// schema returns the spec's schema of an object's kind from the API server.
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
	return nil, fmt.Errorf("%s is not the kind of a CustomResourceDefinition", kind)
}
