package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/budget"
	"example.com/nginx-operator/internal/instance/certs"
	"example.com/nginx-operator/internal/instance/checks"
	"example.com/nginx-operator/internal/instance/listeners"
	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/problems"
	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/instance/variables"
	"example.com/nginx-operator/internal/instanceapi"
)

// facts are what a test found out about a configuration.
type facts struct {
	// uses maps each certificate to the addresses where it is used.
	uses map[string][]string
	// hosts maps each certificate to the names of the servers that use it.
	hosts map[string][]string
	// sockets are the unix sockets on which nginx listens.
	sockets []string
	demand  assemble.Demand
	// checks are the requests that the new workers must answer as declared.
	checks instanceapi.Checks
	// dryRun is the pod that made the dry run, as far as there can be one.
	dryRun dryRunPod
	// measured is the resource usage of the dry run; zero: it is unknown.
	measured instanceapi.Usage
	// unread are the user's files that nginx did not read.
	unread []string
}

// dryRunPod is a pod that made a dry run.
type dryRunPod int

const (
	noPod dryRunPod = iota
	thisPod
	anotherPod
)

// candidate is a configuration that is being tested or loaded.
type candidate struct {
	revision   string
	generation int64
	dir        string
	facts      facts
	// mounts are the versions of the folders of ReloadOn before nginx read the candidate.
	mounts []string
}

// assemble writes the files of a revision to a new folder.
func (s *Supervisor) assemble(revision string, generation int64) (candidate, map[string]string, []instanceapi.Problem, error) {
	settings := s.Assembly
	settings.Revision, settings.Generation = revision, generation
	return s.assembleWith(settings)
}

func (s *Supervisor) assembleWith(settings assemble.Settings) (candidate, map[string]string, []instanceapi.Problem, error) {
	mounts := s.mounts.versions()
	files, err := s.find(settings.Revision)
	if err != nil {
		return candidate{}, nil, nil, err
	}
	declared, err := checks.Parse(files)
	if err != nil {
		return candidate{}, nil, nil, err
	}
	replaced, err := variables.Replace(files, s.Variables)
	if err != nil || len(replaced.Problems) > 0 {
		return candidate{}, nil, replaced.Problems, err
	}
	s.secrets.Add(settings.Revision, replaced.Confidential)
	assembled := assemble.Files(replaced.Files, settings)
	if len(assembled.Problems) > 0 {
		return candidate{}, nil, assembled.Problems, nil
	}
	dir, err := s.Store.Write(settings.Revision, settings.Generation, assembled.Files)
	c := candidate{
		revision: settings.Revision, generation: settings.Generation, dir: dir, mounts: mounts,
		facts: facts{demand: assembled.Demand, checks: declared},
	}
	return c, assembled.Files, nil, err
}

// examine assembles a revision, tests it with nginx, checks its listeners, and makes a dry run unless there is one
// elsewhere. If the result of that one does not fit into this container, it makes its own. An error means that the test
// could not be done, and says nothing about the configuration.
func (s *Supervisor) examine(ctx context.Context, revision string, generation int64, elsewhere *instanceapi.DryRun) (c candidate, found []instanceapi.Problem, err error) {
	s.withKeys(ctx, func() (passed bool) {
		s.Store.Drop(c.dir)
		c, found, err = s.examineOnce(ctx, revision, generation, elsewhere)
		return err == nil && len(found) == 0
	})
	return c, found, err
}

func (s *Supervisor) examineOnce(ctx context.Context, revision string, generation int64, elsewhere *instanceapi.DryRun) (candidate, []instanceapi.Problem, error) {
	c, found, err := s.examineFiles(ctx, revision, generation)
	s.secrets.HideIn(found)
	if err != nil || len(found) > 0 || elsewhere != nil && s.takeDryRun(&c.facts, elsewhere) {
		return c, found, err
	}
	c.facts.dryRun = thisPod
	c.facts.measured, found, err = s.dryRun(ctx, c)
	s.secrets.HideIn(found)
	return c, found, err
}

// keyAttempts bounds how often nginx may read its keys again.
const keyAttempts = 3

// withKeys repeats an attempt that failed if a key was denied meanwhile: a worker had its pipe open at the same time, so
// nginx may not have got it.
func (s *Supervisor) withKeys(ctx context.Context, attempt func() (passed bool)) {
	for n := 1; ; n++ {
		before := s.Certs.KeysDenied()
		passed := attempt()
		denied := s.Certs.KeysDenied()
		if passed || n == keyAttempts || ctx.Err() != nil || denied == before {
			return
		}
		slog.Warn("nginx reads its keys again: a worker had the pipe of a key open, so the key was not passed; remove what serves this file from the configuration", "path", denied.Last)
	}
}

// takeDryRun takes over the result of a dry run in another pod, if there is one already. It reports whether the workers fit
// into this container by that result.
func (s *Supervisor) takeDryRun(known *facts, elsewhere *instanceapi.DryRun) bool {
	if elsewhere.Usage == nil {
		return true
	}
	taken := *known
	taken.dryRun, taken.measured = anotherPod, *elsewhere.Usage
	if len(s.misfits(&taken)) > 0 {
		return false
	}
	*known = taken
	return true
}

// misfits returns the problems if the workers do not fit into the memory that is free now: replaced workers may not have
// ended yet.
func (s *Supervisor) misfits(known *facts) []instanceapi.Problem {
	if known.measured == (instanceapi.Usage{}) {
		return nil
	}
	found := budget.Check(known.demand, known.measured, s.room())
	s.secrets.HideIn(found)
	return found
}

// examineFiles does all that examine does but the dry run.
func (s *Supervisor) examineFiles(ctx context.Context, revision string, generation int64) (candidate, []instanceapi.Problem, error) {
	c, files, found, err := s.assemble(revision, generation)
	if err != nil || len(found) > 0 {
		return c, found, err
	}
	if found := budget.Foresee(c.facts.demand, s.room()); len(found) > 0 {
		return c, found, nil
	}
	known := make(map[string]string, len(files))
	for name, text := range files {
		known[filepath.Join(c.dir, name)] = text
	}
	dump := listeners.NewDump(known)
	tested, err := s.Binary.Test(ctx, c.dir, s.testMemory(), dump)
	if err != nil {
		return c, nil, err
	}
	if tested.Refusal != "" {
		return c, s.refusal(tested, c, files), nil
	}
	read := dump.Files()
	c.facts.unread = unread(c.dir, files, read)
	return c, s.listeners(&c, syntax.NewTree(c.dir, read), dump.Cut()), nil
}

// listeners records where nginx will listen, and compares that with the declared ports.
func (s *Supervisor) listeners(c *candidate, tree syntax.Tree, cut bool) []instanceapi.Problem {
	reader := listeners.Reader{TLSDir: s.TLSDir, DefaultPort: defaultPort()}
	all, sockets := reader.All(tree, filepath.Join(c.dir, assemble.MainFile))
	shown := func(file string) string {
		if filepath.Dir(file) == c.dir {
			return filepath.Base(file)
		}
		return file
	}
	for i := range all {
		all[i].File = shown(all[i].File)
	}
	c.facts.uses, c.facts.hosts, c.facts.sockets = listeners.ByCertificate(all), listeners.NamesByCertificate(all), sockets
	found := append(certs.PerHandshake(tree, filepath.Join(c.dir, assemble.MainFile), s.TLSDir, shown),
		listeners.Check(s.Ports, all, listeners.Addresses(), c.facts.checks.Families, s.OwnPort)...)
	if cut && len(found) > 0 {
		return []instanceapi.Problem{{Message: tooLarge}}
	}
	return found
}

// tooLarge is the problem that is reported when only a part of the configuration could be checked.
const tooLarge = "the files that the configuration includes from outside of spec.config are too large to find out on which ports nginx listens: put the server blocks into spec.config, or include them before the large files"

// unread returns the user's .conf files that nginx did not read.
func unread(dir string, files, read map[string]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, ok := read[filepath.Join(dir, name)]; !ok && strings.HasSuffix(name, ".conf") {
			names = append(names, name)
		}
	}
	return names[:min(len(names), maxUnreadFiles)]
}

// maxUnreadFiles bounds the number of unread files that are reported.
const maxUnreadFiles = 10

func (s *Supervisor) refusal(tested nginx.Tested, c candidate, files map[string]string) []instanceapi.Problem {
	found := s.problemReader(c).Problems(tested.Messages)
	// nginx only names the step at which memory or descriptors ran out.
	if len(found) == 0 || tested.Exhausted {
		found = []instanceapi.Problem{{Message: tested.Refusal}}
	}
	if tested.NotLoaded != "" {
		found[0].Message += fmt.Sprintf("; nginx loads modules and engines only from places that the pod cannot write, and %.200q is not in one: "+
			"put it into the image, or mount its volume with readOnly", tested.NotLoaded)
	}
	return problems.Locate(found, files, assemble.Generated)
}

// problemReader reads nginx's messages about a candidate.
func (s *Supervisor) problemReader(c candidate) problems.Reader {
	return problems.Reader{Hidden: []string{c.dir, s.Store.CurrentPath()}, Own: s.Store.Owns, Secrets: &s.secrets, Revision: c.revision}
}

// redact returns a line of nginx's log in a form for everyone who may read the container's log. The line may be about any
// revision.
func (s *Supervisor) redact(line string) string {
	return problems.Reader{Own: s.Store.Owns, Secrets: &s.secrets}.Redact(line)
}

// defaultPort returns the port of a server block without a listen directive.
func defaultPort() int {
	if os.Getuid() == 0 {
		return 80
	}
	return 8000
}

// test tests a revision that is not loaded yet. If it passes, its folder is kept for the load.
func (s *Supervisor) test(ctx context.Context, revision string) {
	s.dropTested()
	s.generation++
	ctx, end := s.whileRequested(ctx, revision)
	defer end()
	c, found, err := s.examine(ctx, revision, s.generation, s.dryRunElsewhere(revision))
	s.tested = c
	if ctx.Err() != nil {
		s.dropTested()
		return
	}
	s.note(revision, c, found, err)
	if s.past.of(revision).Test != instanceapi.Passed {
		s.dropTested()
	}
}

// dropTested removes the folder that was kept for a load.
func (s *Supervisor) dropTested() {
	s.Store.Drop(s.tested.dir)
	s.tested = candidate{}
}

// dryRunElsewhere returns the dry run of a revision in another pod; nil if there is none.
func (s *Supervisor) dryRunElsewhere(revision string) *instanceapi.DryRun {
	if s.folders.requested.Test != revision {
		return nil
	}
	return s.folders.hints.DryRun
}

// note records and logs the outcome of a test.
func (s *Supervisor) note(revision string, c candidate, found []instanceapi.Problem, err error) {
	if err != nil {
		found = []instanceapi.Problem{{Message: "the configuration could not be tested: " + err.Error()}}
	}
	o := s.past.touch(revision)
	news := o.Test != instanceapi.Failed
	o.examined(c.facts, found, s.inputs, time.Now())
	switch {
	case len(found) == 0:
		slog.Info("configuration passed the test", "revision", revision)
	case news:
		slog.Warn("configuration failed the test", "revision", revision, "problems", found)
	}
}

// aborted reports whether an action was canceled for something more important.
func aborted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err()))
}
