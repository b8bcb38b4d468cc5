package instance

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
)

// doubt is the time after which a loaded configuration may be rolled back. It is shorter than in
// the real instance manager, but long enough for an operator to observe it.
const doubt = time.Second

// Watcher is notified of what an instance does with revisions.
type Watcher interface {
	// Answered: a client sent the pod a query or an order; ok reports whether it got the status.
	Answered(pod client.ObjectKey, order, ok bool)
	// Boots: the instance has booted with a revision.
	Boots(pod client.ObjectKey, revision string)
	// Accepted: the instance has accepted a revision.
	Accepted(pod client.ObjectKey, revision string)
	// Follows: the instance is about to test and load a revision without an order.
	Follows(pod client.ObjectKey, revision string)
	// Loads: the instance loads a revision that it did not serve. fails is set if the load fails.
	Loads(pod client.ObjectKey, revision string, fails bool)
	// Compares: the instance starts to compare the first answers of a revision with the earlier
	// ones.
	Compares(pod client.ObjectKey, revision string)
	// TakesBack: the instance rolls back a revision that it served.
	TakesBack(pod client.ObjectKey, revision string)
	// Sent: the operator has sent the instance purges. Purges: the instance is about to carry some out.
	Sent(pod client.ObjectKey, purges instanceapi.Purges)
	Purges(pod client.ObjectKey, purges instanceapi.Purges)
	// Ends: a revision has ended the instance's container or workers, so no other instance may load
	// it.
	Ends(pod client.ObjectKey, revision string)
}

// Watched sets the Watcher of an instance.
func Watched(by Watcher) Option {
	return func(i *Instance) { i.watch = by }
}

// unwatched is a Watcher that does nothing.
type unwatched struct{}

func (unwatched) Answered(client.ObjectKey, bool, bool) {}
func (unwatched) Boots(client.ObjectKey, string)        {}
func (unwatched) Accepted(client.ObjectKey, string)     {}
func (unwatched) Follows(client.ObjectKey, string)      {}
func (unwatched) Loads(client.ObjectKey, string, bool)  {}
func (unwatched) Compares(client.ObjectKey, string)     {}
func (unwatched) TakesBack(client.ObjectKey, string)    {}
func (unwatched) Ends(client.ObjectKey, string)         {}

func (unwatched) Sent(client.ObjectKey, instanceapi.Purges)   {}
func (unwatched) Purges(client.ObjectKey, instanceapi.Purges) {}

func (i *Instance) test(revision string, known []content) {
	c := find(revision, known)
	if c.revision == "" || i.revisions.of(revision).Test != "" {
		return
	}
	result := i.tested(c)
	if result.Test == instanceapi.Passed && i.hints.DryRun == nil {
		result = dryRun(c)
	}
	if result.Test == instanceapi.Passed {
		i.watch.Accepted(i.pod, revision)
	}
	i.revisions.set(result)
}

// dryRun returns the result of a dry run.
func dryRun(c content) instanceapi.Revision {
	result := instanceapi.Revision{Revision: c.revision, Test: instanceapi.Passed, Usage: &instanceapi.Usage{Threads: 1}}
	if strings.Contains(c.text, "greedy") {
		result.Test, result.Usage = instanceapi.Failed, nil
		result.Problems = []instanceapi.Problem{{Message: "out of memory"}}
	}
	return result
}

// dryRunPassed reports whether a revision passed a dry run, here or in another pod. If there was none, this instance
// does it.
func (i *Instance) dryRunPassed(c content) bool {
	result := i.revisions.of(c.revision)
	if result.Test != instanceapi.Passed {
		return true // The load fails or succeeds for another reason.
	}
	if result.Usage == nil && (i.hints.DryRun == nil || i.hints.DryRun.Usage == nil) {
		result = dryRun(c)
		i.revisions.set(result)
	}
	return result.Test == instanceapi.Passed
}

// certificateFile matches the path of a certificate file that a configuration reads.
var certificateFile = regexp.MustCompile(regexp.QuoteMeta(instanceapi.DirTLS) + `/([^/]+)/[a-z.]+`)

// badWord matches a word of its own, and no digits of a key.
var badWord = regexp.MustCompile(`\bbad\b`)

// tested returns the result of a test.
func (i *Instance) tested(c content) instanceapi.Revision {
	passed := instanceapi.Revision{Revision: c.revision, Test: instanceapi.Passed}
	refused := func(message string) instanceapi.Revision {
		return instanceapi.Revision{
			Revision: c.revision, Test: instanceapi.Failed,
			Problems: []instanceapi.Problem{{File: "site.conf", Line: 1, Message: message}},
		}
	}
	if badWord.MatchString(c.text) {
		return refused("it is bad")
	}
	if file := certificateFile.FindStringSubmatch(c.text); file != nil && i.pairs[file[1]] == nil {
		return refused(fmt.Sprintf("cannot load certificate %q: No such file or directory", file[0]))
	}
	return passed
}

// failed returns a revision that passes its test but fails its load.
func failed(revision, why string, fatal bool) *instanceapi.Revision {
	return &instanceapi.Revision{
		Revision: revision, Test: instanceapi.Passed, Load: instanceapi.Failed, Fatal: fatal,
		Problems: []instanceapi.Problem{{File: "site.conf", Line: 1, Message: why}},
	}
}

// loadFailure returns the result of a failed load, or nil if the load succeeds.
func loadFailure(c content) *instanceapi.Revision {
	switch {
	case strings.Contains(c.text, "fatal"):
		return failed(c.revision, "it ends the container", true)
	case strings.Contains(c.text, "sticky"):
		return failed(c.revision, "it sticks", false)
	}
	return nil
}

func (i *Instance) load(revision string, known []content) {
	c := find(revision, known)
	if c.revision == "" || i.revisions.of(revision).Load == instanceapi.Failed || !i.dryRunPassed(c) {
		return
	}
	failure := loadFailure(c)
	if i.serving != revision {
		i.watch.Loads(i.pod, revision, failure != nil)
	}
	if failure != nil {
		i.revisions.set(*failure)
		if failure.Fatal {
			i.watch.Ends(i.pod, revision)
		}
		return
	}
	i.serve(c)
	if i.hints.First && i.mayRollBack("useless") {
		i.watch.Compares(i.pod, revision)
	}
	if i.down {
		i.down = false
		i.up()
	}
}

// find returns the configuration of a revision; zero if it is empty or not known.
func find(revision string, known []content) content {
	for _, c := range known {
		if revision != "" && c.revision == revision {
			return c
		}
	}
	return content{}
}

// mayRollBack reports whether the served configuration contains a text and may be rolled back.
func (i *Instance) mayRollBack(text string) bool {
	return i.before.revision != "" && strings.Contains(i.text, text)
}

// reconsider rolls back a configuration that has turned out to be harmful.
func (i *Instance) reconsider() {
	if time.Since(i.since) < doubt {
		return
	}
	switch revision := i.serving; {
	case i.mayRollBack("useless"):
		i.revisions.set(*failed(revision, "the first answers are errors", false))
		i.watch.TakesBack(i.pod, revision)
	case i.mayRollBack("brittle"):
		i.revisions.set(*failed(revision, "a worker process has ended", true))
		i.watch.TakesBack(i.pod, revision)
		i.watch.Ends(i.pod, revision)
	default:
		return
	}
	i.serve(i.before)
	i.before = content{}
}
