package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// target is a fuzz function.
type target struct {
	// module and pkg are import paths, dir is the package's folder.
	module, pkg, dir string
	name             string
}

// relativePackage returns the package's path relative to the module's root, as the go command takes it.
func (t target) relativePackage() string { return "." + strings.TrimPrefix(t.pkg, t.module) }

// String returns the name of the target's row.
func (t target) String() string { return strings.TrimPrefix(t.relativePackage(), "./") + "." + t.name }

// goListPackage is the output of `go list` for a package.
type goListPackage struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
	Module                    struct{ Path string }
}

// find returns the module's targets whose names match wanted, sorted by name.
func find(ctx context.Context, wanted *regexp.Regexp) ([]target, error) {
	text, err := goCommand(ctx, "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,Module", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var targets []target
	for decoder := json.NewDecoder(strings.NewReader(string(text))); ; {
		var p goListPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list the packages: %w", err)
		}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			names, err := declared(filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				if t := (target{p.Module.Path, p.ImportPath, p.Dir, name}); wanted.MatchString(t.String()) {
					targets = append(targets, t)
				}
			}
		}
	}
	slices.SortFunc(targets, func(a, b target) int { return cmp.Compare(a.String(), b.String()) })
	return targets, nil
}

// declared returns the names of a file's fuzz functions, by the rules of the go command.
func declared(file string) ([]string, error) {
	source, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range source.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") && len(f.Type.Params.List) == 1 {
			names = append(names, f.Name.Name)
		}
	}
	return names, nil
}

func goCommand(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", args...)
	c.Stderr = os.Stderr
	return c
}

// maxInputBytes is the maximum size, in bytes, of an input that is kept.
const maxInputBytes = 4 << 10

// keep copies the smallest inputs that reached new code to the package's testdata, where every run
// of its tests tries them.
func (t target) keep(ctx context.Context, most int) error {
	if most == 0 {
		return nil
	}
	cache, err := goCommand(ctx, "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("find the cache: %w", err)
	}
	found := filepath.Join(strings.TrimSpace(string(cache)), "fuzz", t.pkg, t.name)
	inputs, err := os.ReadDir(found)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	kept := filepath.Join(t.dir, "testdata", "fuzz", t.name)
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return err
	}
	texts := map[string][]byte{}
	for _, input := range inputs {
		if texts[input.Name()], err = os.ReadFile(filepath.Join(found, input.Name())); err != nil {
			return err
		}
	}
	for _, name := range smallest(texts, most) {
		if err := os.WriteFile(filepath.Join(kept, name), texts[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// smallest returns the names of the smallest texts.
func smallest(texts map[string][]byte, most int) []string {
	var names []string
	for name, text := range texts {
		if len(text) <= maxInputBytes {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(texts[a]), len(texts[b])), cmp.Compare(a, b)) })
	return names[:min(len(names), most)]
}
