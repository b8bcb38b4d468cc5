//go:build instance

package instance_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginxconf"
)

// askWith asks by annotations, with the grant of a word.
func (p *Pod) askWith(test, load, word string) {
	p.t.Helper()
	grant := ""
	if word != "" {
		grant = instanceapi.Grant(word)
	}
	p.mount(instanceapi.DirRequests, map[string]string{
		instanceapi.FileTest: test, instanceapi.FileLoad: load, instanceapi.FileGrant: grant,
	})
	p.until("the annotations are seen", func(s instanceapi.Status) bool {
		return s.Requested == instanceapi.Requested{Test: test, Load: load, GrantFingerprint: instanceapi.Fingerprint(grant)}
	})
}

// tell tells a word, and returns the code of the answer.
func (p *Pod) tell(word string) int {
	p.t.Helper()
	response, err := p.client.Post("http://127.0.0.1:9113"+instanceapi.PathLoad, "text/plain", strings.NewReader(word))
	must(p.t, err)
	must(p.t, response.Body.Close())
	return response.StatusCode
}

func TestLoadAtAWord(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		one, two := nginxconf.Revision(site("one")), nginxconf.Revision(site("two"))
		p := newPod(t, site("one")).start(image, http80)
		p.serves(one)
		p.mount(instanceapi.DirNext, site("two"))
		p.askWith(two, one, "open")
		p.outcome(two, passed)
		p.body(80, "one")
		if code := p.tell("open"); code != http.StatusAccepted {
			t.Fatalf("the word was answered with %d", code)
		}
		if status := p.serves(two); status.Granted != two {
			t.Errorf("granted %q", status.Granted)
		}
		p.body(80, "two")

		// The annotation that says the same at last changes nothing.
		p.askWith(two, two, "open")
		if status := p.serves(two); status.Reloads.Succeeded != 1 {
			t.Errorf("reloads %+v", status.Reloads)
		}

		// Another request ends what the word allowed.
		p.askWith(two, one, "")
		if status := p.serves(one); status.Granted != "" {
			t.Errorf("granted %q after the grant was withdrawn", status.Granted)
		}
	})
}

// TestWordBeforeItsFiles tells the word before the kubelet has brought the files.
func TestWordBeforeItsFiles(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		two := nginxconf.Revision(site("two"))
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		p.askWith(two, "", "open")
		if code := p.tell("open"); code != http.StatusAccepted {
			t.Fatalf("the word was answered with %d", code)
		}
		p.mount(instanceapi.DirNext, site("two"))
		p.serves(two)
	})
}

// TestWordsThatOpenNothing must change nothing: everybody in the cluster's network can
// talk to the pod.
func TestWordsThatOpenNothing(t *testing.T) {
	one, two := nginxconf.Revision(site("one")), nginxconf.Revision(site("two"))
	const right = "open"
	for name, tt := range map[string]struct{ test, grant, word string }{
		"wrong word":              {two, right, "opem"},
		"no word":                 {two, right, ""},
		"the hash itself":         {two, right, instanceapi.Grant(right)},
		"no grant":                {two, "", right},
		"no grant, no word":       {two, "", ""},
		"nothing asked":           {"", right, right},
		"word of another request": {two, "newer", right},
		"more than a word":        {two, right, strings.Repeat(right, 10_000)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, site("one")).start("forky", http80)
			p.serves(one)
			p.mount(instanceapi.DirNext, site("two"))
			p.askWith(tt.test, "", tt.grant)
			if tt.test != "" {
				p.outcome(tt.test, passed)
			}
			if code := p.tell(tt.word); code != http.StatusForbidden {
				t.Errorf("answered with %d", code)
			}
			// Whatever was started would be over when this has been loaded.
			p.signal(syscall.SIGHUP)
			status := p.until("reloaded", func(s instanceapi.Status) bool { return s.Reloads.Succeeded > 0 && s.Ready })
			if status.Serving != one || status.Granted != "" || status.Reloads.Succeeded != 1 {
				t.Errorf("status %+v", status)
			}
		})
	}
}

// TestWordForAnEarlierRequest tells the right word of a request that has changed.
func TestWordForAnEarlierRequest(t *testing.T) {
	p := newPod(t, site("one")).start("forky", http80)
	p.ready()
	two := p.next(site("two"))
	p.askWith(two, "", "first")
	p.outcome(two, passed)
	three := nginxconf.Revision(site("three"))
	p.mount(instanceapi.DirNext, site("three"))
	p.askWith(three, "", "second")
	p.outcome(three, passed)
	if code := p.tell("first"); code != http.StatusForbidden {
		t.Errorf("answered with %d", code)
	}
	if code := p.tell("second"); code != http.StatusAccepted {
		t.Errorf("the right word was answered with %d", code)
	}
	p.serves(three)
}

// TestOnlyTheWordIsTaken sends what else a client could try.
func TestOnlyTheWordIsTaken(t *testing.T) {
	p := newPod(t, site("one")).start("forky", http80)
	p.ready()
	for _, path := range []string{instanceapi.PathLive, instanceapi.PathReady, instanceapi.PathStatus, instanceapi.PathRequests, instanceapi.PathMetrics} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
			request, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:9113"+path, nil)
			must(t, err)
			response, err := p.client.Do(request)
			must(t, err)
			must(t, response.Body.Close())
			if response.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %s", method, path, response.Status)
			}
		}
	}
	if code, _, err := p.get(instanceapi.Port, instanceapi.PathLoad); err != nil || code != http.StatusMethodNotAllowed {
		t.Errorf("GET %s: %d (%v)", instanceapi.PathLoad, code, err)
	}
}
