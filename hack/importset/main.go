// Command importset imports every configuration and every manifest below a folder, and counts what becomes of their
// directives, annotations and fields. It counts the statements of each file a second time, and fails if the review of an
// import lacks one.
//
//	go run ./hack/importset FOLDER
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"example.com/nginx-operator/internal/plugin/importer"
	"example.com/nginx-operator/internal/plugin/lint"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./hack/importset FOLDER")
		os.Exit(1)
	}
	total := &total{}
	err := errors.Join(configurations(os.Args[1], total), manifests(os.Args[1], total))
	total.print()
	if err != nil {
		fmt.Fprintln(os.Stderr, "importset:", err)
	}
	if err != nil || total.lost > 0 {
		os.Exit(1)
	}
}

// total adds up reviews.
type total struct {
	review                                  importer.Review
	configurations, manifests, files, parts int
	// refused are the inputs that the import refuses, with its error. skipped are templates of other programs.
	refused []string
	skipped int
	// lost is the number of statements and annotations that no review has.
	lost int
	// invalid are the manifests that lint refuses.
	invalid []string
}

// add adds the review of an import, and checks its manifests.
func (t *total) add(name string, r *importer.Result) {
	t.review.Items = append(t.review.Items, r.Review.Items...)
	var text bytes.Buffer
	if err := r.Write(&text, "yaml"); err != nil {
		t.refuse(name, err)
		return
	}
	report, err := lint.Check(context.Background(), []lint.Document{{Name: name, Text: text.Bytes()}}, nil)
	if err != nil {
		t.refuse(name, err)
		return
	}
	for _, p := range report.Problems {
		if !p.Warning {
			t.invalid = append(t.invalid, p.String())
		}
	}
}

func (t *total) refuse(name string, err error) {
	t.refused = append(t.refused, name+": "+strings.ReplaceAll(err.Error(), "\n", " "))
}

func (t *total) print() {
	for _, r := range t.refused {
		fmt.Fprintln(os.Stderr, "refused:", r)
	}
	for _, i := range t.invalid {
		fmt.Fprintln(os.Stderr, "invalid:", i)
	}
	fmt.Printf("%d whole configurations, %d parts of others, %d files with manifests; %d files skipped as templates, %d refused\n\n",
		t.configurations, t.parts, t.manifests, t.skipped, len(t.refused))
	if err := t.review.Summary(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "importset:", err)
	}
	fmt.Printf("\nlost: %d; problems that lint finds in the manifests: %d\n", t.lost, len(t.invalid))
}
