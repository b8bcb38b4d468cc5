// Package build compiles the programs of the cluster, once per version.
//
// A component is a Go module (or package) below hack/cluster/components. Its programs are kept in a
// folder whose name is derived from everything that affects them: sources, go.sum, toolchain and
// flags. So the same name means the same programs.
package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"example.com/nginx-operator/hack/cluster/internal/state"
)

// Component is something to build.
type Component struct {
	// Name is the folder below components/.
	Name string
	// Version is for messages and for the tags of images.
	Version string
	// Target is what to build: a package, or the module's tools.
	Target string
	// ModFile replaces go.mod, for a component of several versions.
	ModFile string
	// Variables are set by the linker.
	Variables map[string]string
	// Tags are the build tags.
	Tags string
	// Links are additional names of the program, which selects by its name what to run.
	Links []string
	// Files are put into the folder FilesDir beside the programs.
	Files []ModuleFiles
	// Copies are modules that are compiled from a copy.
	Copies []ModuleCopy
}

// Builder builds components into a cache.
type Builder struct {
	Cache state.Cache
	// Source is the folder hack/cluster.
	Source string
	// Progress receives messages about what is being built.
	Progress *log.Logger
}

// Programs maps the names of components to the folders of their programs.
type Programs map[string]string

// All builds the missing components and returns the folders of all.
func (b Builder) All(ctx context.Context, components ...Component) (Programs, error) {
	programs := Programs{}
	for i, component := range components {
		dir, err := b.folder(ctx, component)
		if err != nil {
			return nil, err
		}
		programs[component.Name] = dir
		if _, err := os.Stat(dir); err == nil {
			continue
		}
		title := fmt.Sprintf("%s %s (%d of %d)", component.Name, component.Version, i+1, len(components))
		if err := b.build(ctx, component, dir, title); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// folder returns the folder of a component's programs. Its name is a hash of everything that
// affects them.
func (b Builder) folder(ctx context.Context, c Component) (string, error) {
	toolchain, err := b.command(ctx, b.source(c), "version").Output()
	if err != nil {
		return "", fmt.Errorf("getting the version of Go (is it installed, and on PATH?): %w", err)
	}
	hash := sha256.New()
	hash.Write(fmt.Appendf(nil, "%s\n%s\n", toolchain, strings.Join(c.arguments("", ""), "\n")))
	if len(c.Files)+len(c.Copies) > 0 {
		hash.Write(fmt.Appendf(nil, "%v\n%v\n", c.Files, c.Copies))
	}
	source := os.DirFS(b.source(c))
	err = fs.WalkDir(source, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !c.affectedBy(path) {
			return err
		}
		content, err := fs.ReadFile(source, path)
		hash.Write(fmt.Appendf(nil, "%s %d\n%s", path, len(content), content))
		return err
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(b.Cache.Programs(), fmt.Sprintf("%s-%s-%x", c.Name, c.Version, hash.Sum(nil)[:6])), nil
}

// affectedBy reports whether a file is part of the component: not a test, nor the modules of another version.
func (c Component) affectedBy(path string) bool {
	switch filepath.Ext(path) {
	case ".mod", ".sum":
		return c.ModFile == "" || strings.TrimSuffix(path, filepath.Ext(path)) == strings.TrimSuffix(c.ModFile, ".mod")
	case ".sh":
		return false
	}
	return !strings.HasSuffix(path, "_test.go")
}

// build compiles into a temporary folder and then renames it, so that a folder of programs is
// always complete.
func (b Builder) build(ctx context.Context, c Component, dir, title string) error {
	if err := errors.Join(os.MkdirAll(b.Cache.Programs(), 0o755), os.MkdirAll(b.Cache.BuildLogs(), 0o755)); err != nil {
		return err
	}
	// The name is always the same, so the next build removes what an interrupted one has left. The
	// cache is locked, so there is only one build at a time.
	unfinished := filepath.Join(b.Cache.Programs(), ".unfinished")
	if err := errors.Join(os.RemoveAll(unfinished), os.Mkdir(unfinished, 0o755)); err != nil {
		return err
	}
	if err := b.compile(ctx, c, unfinished, title); err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	for _, link := range c.Links {
		if err := os.Symlink(c.Name, filepath.Join(unfinished, link)); err != nil {
			return err
		}
	}
	return os.Rename(unfinished, dir)
}

func (b Builder) compile(ctx context.Context, c Component, result, title string) (err error) {
	path := filepath.Join(b.Cache.BuildLogs(), c.Name+".log")
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()

	dir, remove, err := b.prepare(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	build := b.command(ctx, dir, c.arguments("build", result+"/")...)
	build.Stdout, build.Stderr = log, log
	finished := reportProgress(b.Progress, "building "+title)
	err = build.Run()
	finished(err)
	if err != nil {
		return fmt.Errorf("building %s: %w\n%s\nthe whole log: %s", c.Name, err, tail(path, 20), path)
	}
	return b.copyModuleFiles(ctx, c, dir, result)
}

// source returns the folder of a component.
func (b Builder) source(c Component) string { return filepath.Join(b.Source, "components", c.Name) }

// arguments returns the arguments of `go` for this component.
func (c Component) arguments(verb, output string) []string {
	flags := []string{"-s", "-w"}
	for _, name := range sortedKeys(c.Variables) {
		flags = append(flags, "-X", name+"="+c.Variables[name])
	}
	all := []string{verb, "-trimpath", "-buildvcs=false", "-ldflags", strings.Join(flags, " ")}
	if c.ModFile != "" {
		all = append(all, "-modfile", c.ModFile)
	}
	if c.Tags != "" {
		all = append(all, "-tags", c.Tags)
	}
	return append(all, "-o", output, c.Target)
}

func (b Builder) command(ctx context.Context, dir string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = dir
	// Build statically, and ignore the user's flags and workspaces, which are for other modules.
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	return command
}

// reportProgress reports the start, regularly that it continues, and the result.
func reportProgress(progress *log.Logger, title string) (finished func(error)) {
	start := time.Now()
	progress.Printf("%s ...", title)
	ticker := time.NewTicker(30 * time.Second)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-ticker.C:
				progress.Printf("%s, for %s so far", title, time.Since(start).Round(time.Second))
			case <-stop:
				return
			}
		}
	}()
	return func(err error) {
		ticker.Stop()
		close(stop)
		<-stopped
		result := "done"
		if err != nil {
			result = "failed"
		}
		progress.Printf("%s %s after %s", title, result, time.Since(start).Round(time.Second))
	}
}

// tail returns the last lines of a log, or why it cannot be read.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
