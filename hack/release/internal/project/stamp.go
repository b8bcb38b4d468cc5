package project

import (
	"fmt"
	"os"
	"regexp"
)

// stamped are the kustomizations that name the version of the image.
var stamped = []string{
	"config/default/kustomization.yaml", "config/migration/kustomization.yaml", "config/namespaced/kustomization.yaml",
}

var newTag = regexp.MustCompile(`(?m)^(  newTag: ).*$`)

// Stamp writes the version into the manifests that are written by hand.
func (p *Project) Stamp() error {
	for _, name := range stamped {
		text, err := os.ReadFile(p.Path(name))
		if err != nil {
			return err
		}
		if len(newTag.FindAll(text, -1)) != 1 {
			return fmt.Errorf("%s: want one newTag, to put the version into", name)
		}
		if err := os.WriteFile(p.Path(name), newTag.ReplaceAll(text, []byte("${1}"+p.Version)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
