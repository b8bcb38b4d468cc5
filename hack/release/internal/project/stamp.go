package project

import (
	"fmt"
	"os"
	"regexp"
)

// stamped are the hand-written files that contain the version.
var stamped = []string{
	"README.md", "docs/console.md", "docs/installation.md", "docs/kubectl-nginx.md",
	"config/console/kustomization.yaml", "config/default/kustomization.yaml", "config/migration/kustomization.yaml", "config/namespaced/kustomization.yaml",
}

// versionPatterns match the versions of images and of a release's files. What follows the version of a file of the plugin
// looks like a part of it.
var versionPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(nginx-operator(?:-bundle)?[:-]|newTag: |VERSION=)\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+[0-9A-Za-z])?`),
	regexp.MustCompile(`(kubectl-nginx-)\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)??(-(?:linux|darwin|windows)-)`),
}

// Stamp writes the version into the stamped files.
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
	found := false
	for _, pattern := range versionPatterns {
		found = found || pattern.Match(text)
		text = pattern.ReplaceAll(text, []byte("${1}"+version+"${2}"))
	}
	if !found {
		return nil, fmt.Errorf("it no longer contains the version: remove it from the list in hack/release/internal/project")
	}
	return text, nil
}
