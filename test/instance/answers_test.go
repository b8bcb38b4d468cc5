//go:build instance

package instance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// rejected reports whether a load has failed without harm to nginx.
func rejected(r instanceapi.Revision) bool { return r.Load == instanceapi.Failed && !r.Fatal }

// checked returns a configuration with checks.
func checked(files map[string]string, json string) map[string]string {
	files[instanceapi.FileChecks] = json
	return files
}

// TestFirstAnswers: a configuration that nginx accepts but that rejects every request is rolled
// back by the pod itself.
func TestFirstAnswers(t *testing.T) {
	server := func(lines string) map[string]string { return map[string]string{"site.conf": lines} }
	worse := map[string]struct {
		files   map[string]string
		message string
	}{
		"refused":        {server("server { listen 80; deny all; }"), "100% of the first "},
		"closed":         {server("server { listen 80; return 444; }"), "100% of the first "},
		"proxy protocol": {server("server { listen 80 proxy_protocol; return 200 bad; }"), "did not result in a request"},
	}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("good")).start(image, http80)
		good := p.ready().Serving
		clients := p.load(4)
		defer clients.stop()
		for name, tt := range worse {
			t.Run(name, func(t *testing.T) {
				p := p.in(t)
				p.until("there was enough traffic before", func(instanceapi.Status) bool {
					window, err := p.window(30)
					return err == nil && window.Requests-window.Errors >= 100
				})
				bad := p.roll(tt.files)
				found := p.outcome(bad, rejected)
				if len(found.Problems) != 1 || !strings.Contains(found.Problems[0].Message, tt.message) || !strings.Contains(found.Problems[0].Message, "rollout.firstAnswers: Ignore") {
					t.Errorf("%+v", found)
				}
				p.serves(good)
				p.body(80, "good")
			})
		}
		meant := p.roll(checked(server("server { listen 80; location / { return 503 maintenance; } }"), `{"ignoreFirstAnswers":true}`))
		p.serves(meant)
		p.until("its probation is over", func(s instanceapi.Status) bool { return s.ServingSeconds != nil && *s.ServingSeconds > 5 })
	})
}

// TestChecks: a configuration that fails its checks is served only until that is found out, and a
// pod is ready only while its checks pass.
func TestChecks(t *testing.T) {
	const says = `{"checks":[{"scheme":"HTTP","host":"shop","port":80,"path":"/","timeoutSeconds":1,"expectStatus":200,"expectBody":"good"}]}`
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, checked(site("good"), says)).start(image, http80)
		good := p.ready().Serving
		bad := p.roll(checked(site("bad"), says))
		found := p.outcome(bad, rejected)
		const want = `spec.checks[0] (GET http://shop:80/): the answer does not contain "good"`
		if len(found.Problems) != 1 || found.Problems[0].Message != want {
			t.Errorf("%+v", found)
		}
		p.serves(good)
		better := p.roll(checked(map[string]string{"site.conf": `server { listen 80; location / { if (-f /run/broken) { return 503; } return 200 "good"; } }`}, says))
		p.serves(better)
		broken := filepath.Join(scratchOf(p.dir, "/run"), "broken")
		must(t, os.WriteFile(broken, nil, 0o644))
		p.until("a check fails", func(s instanceapi.Status) bool {
			return strings.Contains(s.NotReady, "the status is 503; expected 200")
		})
		must(t, os.Remove(broken))
		p.ready()
	})
}

// TestChecksOfABoot: a pod that boots with a configuration that fails its checks is not ready, and
// nginx keeps running.
func TestChecksOfABoot(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, checked(site("good"), `{"checks":[{"scheme":"HTTP","port":80,"path":"/none","timeoutSeconds":1,"expectStatus":404}]}`)).start(image, http80)
		status := p.until("a check fails", func(s instanceapi.Status) bool { return strings.Contains(s.NotReady, "spec.checks[0]") })
		if status.Ready || status.Serving == "" {
			t.Errorf("status %+v", status)
		}
		p.body(80, "good")
	})
}

// TestRollbackIsNotCompared: the configuration that the pod boots from is served when it is
// requested, even if its answers are worse than those of the current one or its checks fail.
func TestRollbackIsNotCompared(t *testing.T) {
	stable := checked(map[string]string{"site.conf": "server { listen 80; location / { return 404; } }"},
		`{"checks":[{"scheme":"HTTP","port":80,"path":"/","timeoutSeconds":1,"expectStatus":200}]}`)
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, stable).start(image, http80)
		p.until("it serves", func(s instanceapi.Status) bool { return s.Serving == nginxconf.Revision(stable) })
		p.serves(p.roll(site("other")))
		p.times(60, "/")
		p.mount(instanceapi.DirNext, stable)
		p.order(nginxconf.Revision(stable), nginxconf.Revision(stable), nil)
		p.until("it serves again", func(s instanceapi.Status) bool { return s.Serving == nginxconf.Revision(stable) })
		p.times(60, "/")
		p.until("it still serves the revision", func(s instanceapi.Status) bool {
			return s.Serving == nginxconf.Revision(stable) && s.ServingSeconds != nil && *s.ServingSeconds > 5
		})
	})
}

// TestRevertedEditIsChecked: a configuration that has passed its checks before has to pass them again.
func TestRevertedEditIsChecked(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("stable")).start(image, http80)
		p.ready()
		once := checked(map[string]string{"site.conf": `server { listen 80; location / { if (-f /run/broken) { return 503; } return 200 "once"; } }`},
			`{"checks":[{"scheme":"HTTP","port":80,"path":"/","timeoutSeconds":1}]}`)
		p.serves(p.roll(once))
		p.until("its probation is over", func(s instanceapi.Status) bool { return s.ServingSeconds != nil && *s.ServingSeconds > 5 })
		between := p.roll(site("between"))
		p.serves(between)
		must(t, os.WriteFile(filepath.Join(scratchOf(p.dir, "/run"), "broken"), nil, 0o644))
		p.outcome(p.roll(once), rejected)
		p.serves(between)
		p.body(80, "between")
	})
}

// TestRollbackIsNotConfirmed: while nginx cannot load the previous configuration either, the pod
// does not end up with the one that it rolls back.
func TestRollbackIsNotConfirmed(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := map[string]string{"site.conf": `server { listen 80; include /run/passing.conf; location / { return 200 "good"; } }`}
		p := newPod(t, files)
		passing := filepath.Join(scratchOf(p.dir, "/run"), "passing.conf")
		must(t, os.WriteFile(passing, nil, 0o644))
		p.start(image, http80)
		good := p.ready().Serving
		must(t, os.WriteFile(passing, []byte("nonsense;"), 0o644))
		bad := p.roll(checked(site("bad"), `{"checks":[{"scheme":"HTTP","port":80,"path":"/","timeoutSeconds":1,"expectStatus":204}]}`))
		p.outcome(bad, rejected)
		p.until("it serves neither", func(s instanceapi.Status) bool { return s.Serving == "" })
		must(t, os.WriteFile(passing, nil, 0o644))
		p.serves(good)
		p.body(80, "good")
	})
}
