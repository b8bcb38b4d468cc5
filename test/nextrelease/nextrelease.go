// Package nextrelease builds a release of the operator that does not exist yet: the programs of
// this tree with another pod template and another version. Tests upgrade to it and downgrade from
// it.
package nextrelease

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

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

	clock = "src/time/time.go"
	// reading is where time.Now reads the clock of the machine.
	reading = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
)

// Programs holds the paths of the release's programs.
type Programs struct{ Operator, Instance string }

// edit replaces the first occurrence of a text in a file.
type edit struct{ file, text, by string }

// Build builds the release into a directory. Its programs run on a clock that is ahead of the machine's; negative: behind it.
// Build changes nothing in the tree: the compiler reads the changed files through an overlay.
func Build(ctx context.Context, dir string, ahead time.Duration) (Programs, error) {
	root := testenv.Root()
	edits := []edit{{filepath.Join(root, manifest), container, fmt.Sprintf("%s    env:\n    - {name: %s, value: %s}\n", container, EnvName, Version)}}
	if ahead != 0 {
		output, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
		if err != nil {
			return Programs{}, fmt.Errorf("go env GOROOT: %w", err)
		}
		file := filepath.Join(strings.TrimSpace(string(output)), filepath.FromSlash(clock))
		edits = append(edits, edit{file, reading, fmt.Sprintf("%s\tsec += %d\n", reading, int64(ahead.Seconds()))})
	}
	overlay, err := overlay(dir, edits)
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

// overlay writes the changed files and the overlay file for the compiler (`go help build`, -overlay), and returns the path of
// the overlay file.
func overlay(dir string, edits []edit) (string, error) {
	replacements := map[string]string{}
	for _, e := range edits {
		text, err := os.ReadFile(e.file)
		if err != nil {
			return "", err
		}
		changed := strings.Replace(string(text), e.text, e.by, 1)
		if changed == string(text) {
			return "", fmt.Errorf("%s does not have what is to be changed: %q", e.file, e.text)
		}
		// With its own suffix, it would be a file of a package here.
		replacements[e.file] = filepath.Join(dir, filepath.Base(e.file)+".overlay")
		if err := os.WriteFile(replacements[e.file], []byte(changed), 0o644); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replacements})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o644)
}
