//go:build instance

package instance_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/badconfig"
)

// TestCorpus: every bad configuration of the corpus is diagnosed, and nginx keeps serving the
// previous one.
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
	revision := p.roll(c.Files)
	found := p.outcome(revision, func(r instanceapi.Revision) bool { return r.Load == instanceapi.Failed || failed(r) })
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

func place(problem instanceapi.Problem) string {
	if problem.File == "" {
		return ""
	}
	return badconfig.Diagnosis{File: problem.File, Line: problem.Line}.Place() + ": "
}
