// Package bugs holds mistakes that are made in operators, each as a change of this one, so that the
// harness can prove that it finds them. They are built by an overlay; no file of the tree changes.
package bugs

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed bugs.yaml
var list []byte

// Bug is a mistake.
type Bug struct {
	Name string `json:"name"`
	// About tells what a programmer got wrong, in a sentence.
	About string `json:"about"`
	// Edits make it of the operator as it is.
	Edits []Edit `json:"edits"`
	// Cases are the beginnings of the names of those that it is looked for with, in this order. What
	// shows without a fault is found by golden/ and the journey, before any other case.
	Cases []string `json:"cases"`
}

// Edit puts With in the place of a text that is exactly once in a file.
type Edit struct {
	File    string `json:"file"`
	Replace string `json:"replace"`
	With    string `json:"with"`
}

// All are the bugs, in their order.
func All() ([]*Bug, error) {
	var all []*Bug
	return all, yaml.UnmarshalStrict(list, &all)
}

// Sources are the files that are other ones with the bug, by their paths below root.
func (b *Bug) Sources(root string) (map[string][]byte, error) {
	sources := map[string][]byte{}
	for _, e := range b.Edits {
		text, changed := sources[e.File]
		if !changed {
			var err error
			if text, err = os.ReadFile(filepath.Join(root, e.File)); err != nil {
				return nil, fmt.Errorf("bug %s: %w", b.Name, err)
			}
		}
		if n := bytes.Count(text, []byte(e.Replace)); n != 1 || e.Replace == "" {
			return nil, fmt.Errorf("bug %s: %q is %d times in %s, and not once", b.Name, e.Replace, n, e.File)
		}
		sources[e.File] = bytes.Replace(text, []byte(e.Replace), []byte(e.With), 1)
	}
	return sources, nil
}

// Build builds the operator of the module at root with the bug, into a folder, and returns the
// program's path.
func (b *Bug) Build(ctx context.Context, root, dir string) (string, error) {
	sources, err := b.Sources(root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	overlay := map[string]map[string]string{"Replace": {}}
	for file, text := range sources {
		changed := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(changed, text, 0o600); err != nil {
			return "", err
		}
		overlay["Replace"][filepath.Join(root, file)] = changed
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	return filepath.Join(dir, "operator"), build(ctx, root, filepath.Join(dir, "operator"), "-overlay="+file)
}

// BuildGood builds the operator as it is.
func BuildGood(ctx context.Context, root, program string) error { return build(ctx, root, program) }

// build uses the flags of the Makefile, and with them what is compiled already.
func build(ctx context.Context, root, program string, more ...string) error {
	args := slices.Concat([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", program}, more, []string{"./cmd/nginx-operator"})
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, said)
	}
	return nil
}
