package supervise

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/limits"
	"example.com/nginx-operator/internal/instance/listeners"
	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/problems"
	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instanceapi"
)

// facts are what is known about a configuration that was tested.
type facts struct {
	// uses are the addresses where each certificate is used.
	uses map[string][]string
	// sockets are the unix sockets on which nginx listens.
	sockets []string
	workers int
}

// candidate is a configuration on its way into nginx.
type candidate struct {
	revision   string
	generation int64
	dir        string
	facts      facts
}

// assemble writes the files of a revision to a folder of its own.
func (s *Supervisor) assemble(revision string, generation int64) (candidate, map[string]string, []instanceapi.Problem, error) {
	files, err := s.find(revision)
	if err != nil {
		return candidate{}, nil, nil, err
	}
	settings := s.Assembly
	settings.Revision, settings.Generation = revision, generation
	assembled := assemble.Files(files, settings)
	if len(assembled.Problems) > 0 {
		return candidate{}, nil, assembled.Problems, nil
	}
	dir, err := s.Store.Write(revision, generation, assembled.Files)
	c := candidate{revision: revision, generation: generation, dir: dir, facts: facts{workers: assembled.Workers}}
	return c, assembled.Files, nil, err
}

// examine assembles a revision, asks nginx about it, and looks at its listeners. An
// error means that it could not be done, which says nothing about the files.
func (s *Supervisor) examine(ctx context.Context, revision string, generation int64) (candidate, []instanceapi.Problem, error) {
	c, files, found, err := s.assemble(revision, generation)
	if err != nil || len(found) > 0 {
		return c, found, err
	}
	memory := limits.ReadMemory(s.Cgroup, s.Proc.Meminfo())
	tested, err := s.Binary.Test(ctx, c.dir, nginx.TestMemory(memory.Free, memory.Limit, memory.Limited))
	if err != nil {
		return c, nil, err
	}
	if tested.Refusal != "" {
		return c, s.refusal(tested, c.dir), nil
	}
	known := make(map[string]string, len(files))
	for name, text := range files {
		known[filepath.Join(c.dir, name)] = text
	}
	tree := syntax.NewTree(c.dir, listeners.SplitDump(tested.Dump, known))
	reader := listeners.Reader{TLSDir: s.TLSDir, DefaultPort: defaultPort()}
	all, sockets := reader.All(tree, filepath.Join(c.dir, assemble.MainFile))
	for i := range all {
		if filepath.Dir(all[i].File) == c.dir {
			all[i].File = filepath.Base(all[i].File)
		}
	}
	c.facts.uses, c.facts.sockets = listeners.ByCertificate(all), sockets
	return c, listeners.Check(s.Ports, all, listeners.Addresses(), s.OwnPort), nil
}

func (s *Supervisor) refusal(tested nginx.Tested, dir string) []instanceapi.Problem {
	found := s.problemReader(dir).Problems(tested.Messages)
	if len(found) == 0 {
		found = []instanceapi.Problem{{Message: tested.Refusal}}
	}
	return found
}

func (s *Supervisor) problemReader(dirs ...string) problems.Reader {
	return problems.Reader{Hidden: append(dirs, s.Store.Current()), Own: s.Store.Owns}
}

// defaultPort is where nginx listens if a server does not say.
func defaultPort() int {
	if os.Getuid() == 0 {
		return 80
	}
	return 8000
}

// test tests a revision that is not going to be loaded yet.
func (s *Supervisor) test(ctx context.Context, revision string) {
	// No worker ever answers with it.
	const noGeneration = 0
	c, found, err := s.examine(ctx, revision, noGeneration)
	defer s.Store.Drop(c.dir)
	if ctx.Err() != nil {
		return
	}
	s.note(revision, c, found, err)
}

// note remembers and logs the outcome of a test.
func (s *Supervisor) note(revision string, c candidate, found []instanceapi.Problem, err error) {
	if err != nil {
		found = []instanceapi.Problem{{Message: "the configuration could not be tested: " + err.Error()}}
	}
	o := s.past.touch(revision)
	news := o.Test != instanceapi.Failed
	o.facts = c.facts
	o.tested(found, s.certificates, time.Now())
	switch {
	case len(found) == 0:
		slog.Info("configuration passed the test", "revision", revision)
	case news:
		slog.Warn("configuration failed the test", "revision", revision, "problems", found)
	}
}

// aborted tells that an action was given up for something more important.
func aborted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err()))
}
