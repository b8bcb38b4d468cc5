//go:build instance

package instance_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/badconfig"
)

// TestCorpus: every bad configuration of the corpus is diagnosed, by a user's test as by a change, and nginx keeps serving
// the previous one.
func TestCorpus(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		good := badconfig.Good("good")
		p := newPod(t, good).start(image, "--port=http:8080/TCP")
		p.ready()
		for _, c := range badconfig.All() {
			if c.Finder != badconfig.Operator {
				t.Run(c.Name, func(t *testing.T) { p.in(t).refuses(c, nginxconf.Revision(good)) })
			}
		}
	})
}

func (p *Pod) refuses(c badconfig.Case, good string) {
	p.t.Helper()
	tested := p.testsWithoutTrace(c, good)
	revision := p.roll(c.Files)
	found := p.outcome(revision, func(r instanceapi.Revision) bool { return r.Load == instanceapi.Failed || failed(r) })
	p.agrees(c, tested, found)
	var missing error
	for _, problem := range found.Problems {
		// The operator prefixes the message with file and line.
		err := c.Want.In(place(problem) + problem.Message)
		if err == nil {
			missing = nil
			break
		}
		missing = errors.Join(missing, err)
	}
	if missing != nil || len(found.Problems) == 0 {
		p.t.Errorf("%q: problems %+v: %v", c.Files, found.Problems, missing)
	}
	code, body, err := p.get(badconfig.Port, "/")
	if err != nil || code != 200 || !strings.Contains(body, "revision=good") {
		p.t.Fatalf("nginx answers %d %q (%v)", code, body, err)
	}
	p.serves(good)
}

// testsWithoutTrace has the pod test a configuration for a user, and checks that nothing of it stays.
func (p *Pod) testsWithoutTrace(c badconfig.Case, good string) instanceapi.ConfigTest {
	p.t.Helper()
	before, err := p.status()
	must(p.t, err)
	tested := p.testConfig(c.Files)
	after, err := p.status()
	must(p.t, err)
	if outcome(after, tested.Revision) != nil || slices.Contains(after.Available, tested.Revision) || after.Reloads != before.Reloads || after.Serving != good {
		p.t.Errorf("a user's test has left traces: %+v", after)
	}
	return tested
}

// agrees checks that a user's test has the verdict of a change. Only a running nginx notices that a zone of its shared memory
// is used in another way.
func (p *Pod) agrees(c badconfig.Case, tested instanceapi.ConfigTest, changed instanceapi.Revision) {
	p.t.Helper()
	want := instanceapi.ConfigTest{Revision: changed.Revision, Test: instanceapi.Failed, Unread: changed.Unread, Problems: changed.Problems}
	if c.Finder == badconfig.Load && changed.Test == instanceapi.Passed {
		want.Test, want.Problems = instanceapi.Passed, nil
	}
	if diff := cmp.Diff(want, tested); diff != "" {
		p.t.Errorf("a user's test has another verdict: -change +test:\n%s", diff)
	}
}

// outcome returns the outcome of a revision; nil: there is none.
func outcome(s instanceapi.Status, revision string) *instanceapi.Revision {
	for i := range s.Revisions {
		if s.Revisions[i].Revision == revision {
			return &s.Revisions[i]
		}
	}
	return nil
}

func place(problem instanceapi.Problem) string {
	if problem.File == "" {
		return ""
	}
	return badconfig.Diagnosis{File: problem.File, Line: problem.Line}.Place() + ": "
}
