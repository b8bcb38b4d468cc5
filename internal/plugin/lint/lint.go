// Package lint checks manifests of the operator's kinds without a cluster, as the API server and the operator would: the
// fields, the schema with its rules, and what nginx's configuration says. It is pure.
package lint

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Document is a file with manifests.
type Document struct {
	Name string
	Text []byte
}

// Problem is what is wrong in a manifest.
type Problem struct {
	// File and Line are where it is; Line is 0 if that is unknown.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Object is the kind and the name, and Field is the path of the field.
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
	// Message says what is wrong and what to change.
	Message string `json:"message"`
	// Warning is set if the manifest would be accepted.
	Warning bool `json:"warning,omitempty"`
}

// String returns the problem on one line.
func (p Problem) String() string {
	text := p.File
	if p.Line > 0 {
		text += fmt.Sprintf(":%d", p.Line)
	}
	if p.Warning {
		text += ": warning"
	}
	parts := []string{text, p.Object, p.Field, p.Message}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ": ")
}

// Report is the result of a check.
type Report struct {
	// Checked is the number of objects of the operator, and Skipped that of others.
	Checked  int       `json:"checked"`
	Skipped  int       `json:"skipped"`
	Problems []Problem `json:"problems"`
}

// Refused reports whether a manifest would be refused.
func (r *Report) Refused() bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return !p.Warning })
}

// Check checks all objects of the documents, which may refer to each other. test tests a configuration with nginx itself;
// nil does not.
func Check(ctx context.Context, documents []Document, test Tester) (*Report, error) {
	report, set := &Report{Problems: []Problem{}}, &set{configMaps: map[string]*manifest{}}
	for _, document := range documents {
		manifests, problems := parse(document)
		report.Problems = append(report.Problems, problems...)
		set.add(manifests)
	}
	for _, m := range set.manifests {
		kind, known := kinds[m.groupKind()]
		if !known {
			report.Skipped++
			continue
		}
		report.Checked++
		problems, err := m.check(ctx, kind, set, test)
		if err != nil {
			return nil, err
		}
		report.Problems = append(report.Problems, problems...)
	}
	slices.SortStableFunc(report.Problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	report.Problems = slices.Compact(report.Problems)
	return report, nil
}

// set are the objects of all documents.
type set struct {
	manifests []*manifest
	// configMaps are those by namespace and name.
	configMaps map[string]*manifest
}

func (s *set) add(manifests []*manifest) {
	for _, m := range manifests {
		s.manifests = append(s.manifests, m)
		if m.groupKind() == "/ConfigMap" {
			s.configMaps[m.namespace()+"/"+m.name()] = m
		}
	}
}
