package instance

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
)

// doubt is how long what was loaded may be taken back. It is shorter than that of the real instance
// manager, and long enough for an operator to see it.
const doubt = time.Second

// Watcher is told what an instance does with revisions.
type Watcher interface {
	// Accepted: it has found a revision good, or has booted with it.
	Accepted(pod client.ObjectKey, revision string)
	// Loads: it loads one that it did not serve, and fails, or not.
	Loads(pod client.ObjectKey, revision string, fails bool)
	// Compares: it begins to compare the first answers of a revision with those before.
	Compares(pod client.ObjectKey, revision string)
	// TakesBack: it goes back from a revision that it served.
	TakesBack(pod client.ObjectKey, revision string)
	// Ends: a revision has ended its container or its workers, so no other instance may load it.
	Ends(pod client.ObjectKey, revision string)
}

// Watched has somebody told.
func Watched(by Watcher) Option {
	return func(i *Instance) { i.watch = by }
}

// unwatched is nobody.
type unwatched struct{}

func (unwatched) Accepted(client.ObjectKey, string)    {}
func (unwatched) Loads(client.ObjectKey, string, bool) {}
func (unwatched) Compares(client.ObjectKey, string)    {}
func (unwatched) TakesBack(client.ObjectKey, string)   {}
func (unwatched) Ends(client.ObjectKey, string)        {}

func (i *Instance) test(revision string, next content) {
	if revision == "" || revision != next.revision || i.revisions[revision].Test != "" {
		return
	}
	result := i.tested(next)
	if result.Test == instanceapi.Passed {
		i.watch.Accepted(i.pod, revision)
	}
	i.revisions[revision] = result
}

// certificateFile is a file of a certificate that a configuration reads.
var certificateFile = regexp.MustCompile(regexp.QuoteMeta(instanceapi.DirTLS) + `/([^/]+)/[a-z.]+`)

// tested is what becomes of a test.
func (i *Instance) tested(c content) instanceapi.Revision {
	passed := instanceapi.Revision{Revision: c.revision, Test: instanceapi.Passed}
	refused := func(message string) instanceapi.Revision {
		return instanceapi.Revision{
			Revision: c.revision, Test: instanceapi.Failed,
			Problems: []instanceapi.Problem{{File: "site.conf", Line: 1, Message: message}},
		}
	}
	if strings.Contains(c.text, "bad") {
		return refused("it is bad")
	}
	if file := certificateFile.FindStringSubmatch(c.text); file != nil && i.pairs[file[1]] == nil {
		return refused(fmt.Sprintf("cannot load certificate %q: No such file or directory", file[0]))
	}
	return passed
}

// failed is a revision that passes its test, and not its load.
func failed(revision, why string, fatal bool) *instanceapi.Revision {
	return &instanceapi.Revision{
		Revision: revision, Test: instanceapi.Passed, Load: instanceapi.Failed, Fatal: fatal,
		Problems: []instanceapi.Problem{{File: "site.conf", Line: 1, Message: why}},
	}
}

// loadFailure is what becomes of a load that fails; nil: it does not.
func loadFailure(c content) *instanceapi.Revision {
	switch {
	case strings.Contains(c.text, "fatal"):
		return failed(c.revision, "it ends the container", true)
	case strings.Contains(c.text, "sticky"):
		return failed(c.revision, "it sticks", false)
	}
	return nil
}

func (i *Instance) load(revision string, volumes ...content) {
	for _, v := range volumes {
		if revision == "" || v.revision != revision || i.revisions[revision].Load == instanceapi.Failed {
			continue
		}
		failure := loadFailure(v)
		if i.serving != revision {
			i.watch.Loads(i.pod, revision, failure != nil)
		}
		if failure != nil {
			i.revisions[revision] = *failure
			if failure.Fatal {
				i.watch.Ends(i.pod, revision)
			}
			return
		}
		i.serve(v)
		if i.doubtful("useless") {
			i.watch.Compares(i.pod, revision)
		}
		if i.down {
			i.down = false
			i.up()
		}
	}
}

// doubtful tells whether what it serves says a word, and may be taken back.
func (i *Instance) doubtful(word string) bool {
	return i.before.revision != "" && strings.Contains(i.text, word)
}

// reconsider goes back from a configuration that has turned out to do harm.
func (i *Instance) reconsider() {
	if time.Since(i.since) < doubt {
		return
	}
	switch revision := i.serving; {
	case i.doubtful("useless"):
		i.revisions[revision] = *failed(revision, "the first answers are errors", false)
		i.watch.TakesBack(i.pod, revision)
	case i.doubtful("brittle"):
		i.revisions[revision] = *failed(revision, "a worker process has ended", true)
		i.watch.TakesBack(i.pod, revision)
		i.watch.Ends(i.pod, revision)
	default:
		return
	}
	i.serve(i.before)
	i.before = content{}
}
