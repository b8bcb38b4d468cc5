// Package bugs holds typical mistakes in operators, each as a change to this one, so that the
// harness can prove that it finds them. An overlay builds them, so no file of the source tree
// changes.
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

// Bug is a seeded mistake.
type Bug struct {
	Name string `json:"name"`
	// About says in one sentence what a programmer got wrong.
	About string `json:"about"`
	// Edits are the changes that introduce the bug.
	Edits []Edit `json:"edits"`
	// Cases are prefixes of the names of the cases that find the bug, in this order. A bug that
	// shows without a fault should be found by golden/ and the journey before any other case. All cases of a bug are of the
	// suite, or attacks, or the tests of packages.
	Cases []string `json:"cases"`
}

// Edit replaces a text that occurs exactly once in a file.
type Edit struct {
	File    string `json:"file"`
	Replace string `json:"replace"`
	With    string `json:"with"`
}

// All returns the bugs in the order of the list.
func All() ([]*Bug, error) {
	var all []*Bug
	return all, yaml.UnmarshalStrict(list, &all)
}

// Sources returns the content of the files that the bug changes, by their paths relative to root.
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
			return nil, fmt.Errorf("bug %s: %q occurs %d times in %s, but must occur once", b.Name, e.Replace, n, e.File)
		}
		sources[e.File] = bytes.Replace(text, []byte(e.Replace), []byte(e.With), 1)
	}
	return sources, nil
}

// AttackKind begins the names of the cases that attack the receiver of orders, without a cluster.
const AttackKind = "attack/"

// InInstance reports whether the bug is one of the instance manager, which attacks find.
func (b *Bug) InInstance() bool {
	return slices.ContainsFunc(b.Cases, func(name string) bool { return strings.HasPrefix(name, AttackKind) })
}

// UnitKind begins the names of the cases that are the tests of a package, such as unit/internal/cache/purge.
const UnitKind = "unit/"

// InUnit reports whether the tests of packages find the bug.
func (b *Bug) InUnit() bool {
	return slices.ContainsFunc(b.Cases, func(name string) bool { return strings.HasPrefix(name, UnitKind) })
}

// Test runs the tests of the bug's packages with it, in the module at root, and returns the first one that fails, with its
// output. dir is for the changed files.
func (b *Bug) Test(ctx context.Context, root, dir string) (found string, output []byte, err error) {
	overlay, err := b.overlay(root, dir)
	if err != nil {
		return "", nil, err
	}
	for _, name := range b.Cases {
		target := "./" + strings.TrimPrefix(name, UnitKind)
		// What does not compile proves nothing.
		if said, err := goCommand(ctx, root, "vet", overlay, target).CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("bug %s: go vet %s: %w\n%s", b.Name, target, err, said)
		}
		if said, err := goCommand(ctx, root, "test", "-count=1", overlay, target).CombinedOutput(); err != nil {
			return name, said, ctx.Err()
		}
	}
	return "", nil, nil
}

func goCommand(ctx context.Context, root string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = root
	return command
}

// Build builds the operator of the module at root with the bug into dir, or the program that attacks
// the instance manager, and returns the program's path.
func (b *Bug) Build(ctx context.Context, root, dir string) (string, error) {
	overlay, err := b.overlay(root, dir)
	if err != nil {
		return "", err
	}
	source := operator
	if b.InInstance() {
		source = attacker
	}
	return filepath.Join(dir, "program"), build(ctx, root, source, filepath.Join(dir, "program"), overlay)
}

// overlay writes the files that the bug changes into dir, and returns the flag of the go command that uses them.
func (b *Bug) overlay(root, dir string) (string, error) {
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
	return "-overlay=" + file, nil
}

// BuildGood builds the operator without a bug.
func BuildGood(ctx context.Context, root, program string) error {
	return build(ctx, root, operator, program)
}

// BuildAttacker builds the program that attacks an instance manager without a bug.
func BuildAttacker(ctx context.Context, root, program string) error {
	return build(ctx, root, attacker, program)
}

// The packages of the programs.
const (
	operator = "./cmd/nginx-operator"
	attacker = "./test/fault/cmd/attack"
)

// build uses the flags of the Makefile, so that it shares the build cache with it.
func build(ctx context.Context, root, source, program string, more ...string) error {
	args := slices.Concat([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", program}, more, []string{source})
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, said)
	}
	return nil
}
