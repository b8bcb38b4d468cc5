// Package archive builds the archive of a release: manifests, chart, bundle, images, bills of
// materials and checksums.
//
// The same commit gives the same bytes, wherever and whenever it is built: programs are built
// without paths and without version control stamps, entries are sorted, and every time is that of
// the commit (https://reproducible-builds.org/specs/source-date-epoch/).
package archive

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/hack/release/internal/bundle"
	"example.com/nginx-operator/hack/release/internal/chart"
	"example.com/nginx-operator/hack/release/internal/project"
)

// Archive is the archive of a release.
type Archive struct {
	*project.Project
	// Revision is the commit, for the images' labels.
	Revision string
	// Date is the time of every file.
	Date time.Time
	// Programs is the folder for the programs that are built.
	Programs string
	files    map[string][]byte
}

// Make writes every file of the release to a folder, which it empties first.
func (a *Archive) Make(ctx context.Context, out string) error {
	a.files = map[string][]byte{}
	steps := []struct {
		what string
		make func(context.Context) error
	}{
		{"manifests", a.manifests}, {"chart", a.chart}, {"programs", a.build},
		{"images", a.images}, {"plugin", a.plugins}, {"bills of materials", a.bills},
	}
	for _, step := range steps {
		if err := step.make(ctx); err != nil {
			return fmt.Errorf("make the %s: %w", step.what, err)
		}
	}
	a.files["SHA256SUMS"] = a.sums()
	return a.write(out)
}

// named returns the name of a file of this version.
func (a *Archive) named(suffix string) string { return project.Name + "-" + a.Version + suffix }

func (a *Archive) sums() []byte {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(a.files[name]), name)
	}
	return []byte(text.String())
}

func (a *Archive) write(out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, content := range a.files {
		path := filepath.Join(out, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(path, a.Date, a.Date); err != nil {
			return err
		}
	}
	return nil
}

// chart packs the chart like `helm package`, except for the times in it.
func (a *Archive) chart(context.Context) error {
	files, err := chart.Files(a.Project)
	if err != nil {
		return err
	}
	tree := tree{}
	for name, text := range files {
		tree.add(project.Name+"/"+name, 0o644, []byte(text))
	}
	packed, err := tree.tar(a.Date)
	if err != nil {
		return err
	}
	a.files[a.named(".tgz")], err = gzipped(packed)
	return err
}

// bundleTree returns the bundle as its image contains it.
func (a *Archive) bundleTree() (tree, error) {
	files, err := bundle.Files(a.Project)
	if err != nil {
		return nil, err
	}
	tree := tree{}
	for name, text := range files {
		tree.add(name, 0o644, []byte(text))
	}
	return tree, nil
}
