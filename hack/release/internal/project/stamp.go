package project

import (
	"fmt"
	"os"
	"regexp"
)

// stamped are the files, written by hand, that name the version.
var stamped = []string{
	"README.md", "docs/installation.md",
	"config/default/kustomization.yaml", "config/migration/kustomization.yaml", "config/namespaced/kustomization.yaml",
}

// versions are those of images and of a release's files.
var versions = regexp.MustCompile(`(nginx-operator(?:-bundle)?[:-]|newTag: |VERSION=)\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+[0-9A-Za-z])?`)

// Stamp writes the version into them.
func (p *Project) Stamp() error {
	for _, name := range stamped {
		text, err := os.ReadFile(p.Path(name))
		if err != nil {
			return err
		}
		after, err := stamp(text, p.Version)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(p.Path(name), after, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func stamp(text []byte, version string) ([]byte, error) {
	if !versions.Match(text) {
		return nil, fmt.Errorf("it does not name the version any more: take it out of the list in hack/release/internal/project")
	}
	return versions.ReplaceAll(text, []byte("${1}"+version)), nil
}
