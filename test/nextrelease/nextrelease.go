// Package nextrelease builds a release of the operator that does not exist yet: the programs of
// this tree with another pod template and another version. Tests upgrade to it and downgrade from
// it.
package nextrelease

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"example.com/nginx-operator/test/testenv"
)

const (
	// Version is the version that the programs report.
	Version = "next"
	// EnvName is what the template adds: a variable, with the value Version, in the container that
	// installs the instance manager.
	EnvName = "NGINX_OPERATOR_RELEASE"

	manifest  = "internal/nginx/manifests/podtemplate.yaml"
	container = "  - name: nginx-operator-install\n"
)

// Programs holds the paths of the release's programs.
type Programs struct{ Operator, Instance string }

// Build builds the release into a directory. It changes nothing in the tree: the compiler reads the
// changed manifest through an overlay.
func Build(ctx context.Context, dir string) (Programs, error) {
	root := testenv.Root()
	overlay, err := overlay(root, dir)
	if err != nil {
		return Programs{}, err
	}
	programs := Programs{Operator: filepath.Join(dir, "nginx-operator"), Instance: filepath.Join(dir, "nginx-instance")}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay", overlay,
		"-ldflags", "-s -w -X main.version="+Version, "-o", dir+string(filepath.Separator), "./cmd/nginx-operator", "./cmd/nginx-instance")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return Programs{}, fmt.Errorf("build the next release: %w: %s", err, output)
	}
	return programs, nil
}

// overlay writes the changed manifest and the overlay file for the compiler (`go help build`,
// -overlay), and returns the path of the overlay file.
func overlay(root, dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, manifest))
	if err != nil {
		return "", err
	}
	changed := bytes.Replace(text, []byte(container),
		fmt.Appendf(nil, "%s    env:\n    - {name: %s, value: %s}\n", container, EnvName, Version), 1)
	if bytes.Equal(changed, text) {
		return "", errors.New(manifest + " does not have the container that is to be changed")
	}
	replacement := filepath.Join(dir, "podtemplate.yaml")
	if err := os.WriteFile(replacement, changed, 0o644); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, manifest): replacement}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o644)
}
