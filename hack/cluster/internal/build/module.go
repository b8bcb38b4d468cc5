package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// FilesDir is the folder of a component's ModuleFiles, in the folder of its programs.
const FilesDir = "files"

// ModuleFiles are files of a module that the component requires: manifests that belong to the
// version of the programs. Modules are downloaded anyway, so the files need not be in the repository.
type ModuleFiles struct {
	Module string
	// Pattern is the glob of the files in the module.
	Pattern string
}

// ModuleCopy is a module that is compiled from a copy, because some of its packages cannot be
// downloaded or would take too long to compile.
type ModuleCopy struct {
	Module, Version string
	// Sum is the module's checksum. The copy has none in go.sum.
	Sum string
	// Dir is the folder of the copy, relative to the component. Its go.mod replaces the module by it.
	Dir string
	// Without are folders of the module that are left out.
	Without []string
	// With are files to add: from the component's folder, to the module's.
	With map[string]string
}

// prepare returns the folder to build in: the component's or, if modules have to be copied, one with
// the same content and the copies. remove deletes what was made.
func (b Builder) prepare(ctx context.Context, c Component) (dir string, remove func() error, err error) {
	source := b.source(c)
	if len(c.Copies) == 0 {
		return source, func() error { return nil }, nil
	}
	dir = filepath.Join(b.Cache.Programs(), ".unfinished-source")
	remove = func() error { return os.RemoveAll(dir) }
	if err := errors.Join(remove(), os.Mkdir(dir, 0o755)); err != nil {
		return "", nil, err
	}
	// The component's go.mod would replace the module: download it from a folder without one.
	for _, module := range c.Copies {
		if err := b.copyModule(ctx, module, c, dir); err != nil {
			return "", nil, errors.Join(err, remove())
		}
	}
	return dir, remove, copyFolder(os.DirFS(source), dir, nil)
}

func (b Builder) copyModule(ctx context.Context, m ModuleCopy, c Component, dir string) error {
	download := b.command(ctx, dir, "mod", "download", "-json", m.Module+"@"+m.Version)
	output, err := download.Output()
	var result struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(output, &result); err != nil || jsonErr != nil || result.Error != "" {
		return fmt.Errorf("downloading %s %s: %w", m.Module, m.Version, errors.Join(err, jsonErr, errors.New(result.Error)))
	}
	if result.Sum != m.Sum {
		return fmt.Errorf("%s %s has the checksum %s, not %s", m.Module, m.Version, result.Sum, m.Sum)
	}
	target := filepath.Join(dir, m.Dir)
	if err := copyFolder(os.DirFS(result.Dir), target, m.Without); err != nil {
		return err
	}
	for from, to := range m.With {
		content, err := os.ReadFile(filepath.Join(b.source(c), from))
		if err != nil {
			return err
		}
		to = filepath.Join(target, to)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, content, 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// copyFolder copies the files of a folder that are in none of the folders without.
func copyFolder(source fs.FS, target string, without []string) error {
	return fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(without, name) {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(target, name), 0o755)
		}
		content, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(target, name), content, 0o600)
	})
}

// copyModuleFiles copies a component's ModuleFiles to a folder of its programs. dir is the folder
// that the component is built in.
func (b Builder) copyModuleFiles(ctx context.Context, c Component, dir, programs string) error {
	for _, files := range c.Files {
		output, err := b.command(ctx, dir, "list", "-m", "-f", "{{.Dir}}", files.Module).Output()
		if err != nil {
			return fmt.Errorf("finding the module %s: %w", files.Module, err)
		}
		module := os.DirFS(string(bytes.TrimSpace(output)))
		found, err := fs.Glob(module, files.Pattern)
		if err != nil || len(found) == 0 {
			return errors.Join(fmt.Errorf("%s has no %s", files.Module, files.Pattern), err)
		}
		target := filepath.Join(programs, FilesDir, strings.ReplaceAll(files.Module, "/", "_"))
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
		for _, name := range found {
			content, err := fs.ReadFile(module, name)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(target, path.Base(name)), content, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}
