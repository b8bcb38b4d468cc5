//go:build instance

package instance_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// requestWithToken requests a test and a load by annotations, with the authorization of a token.
func (p *Pod) requestWithToken(test, load, token string) {
	p.t.Helper()
	authorization := ""
	if token != "" {
		authorization = instanceapi.TokenHash(token)
	}
	p.mount(instanceapi.DirRequests, map[string]string{
		instanceapi.FileTest: test, instanceapi.FileLoad: load, instanceapi.FileTokenHash: authorization,
	})
	p.until("the annotations are seen", func(s instanceapi.Status) bool {
		return s.Requested == instanceapi.Requested{Test: test, Load: load, TokenHashFingerprint: instanceapi.TokenHashFingerprint(authorization)}
	})
}

// requestLoad sends a token and returns the status code of the response.
func (p *Pod) requestLoad(token string) int {
	p.t.Helper()
	response, err := p.client.Post("http://127.0.0.1:9113"+instanceapi.PathLoad, "text/plain", strings.NewReader(token))
	must(p.t, err)
	must(p.t, response.Body.Close())
	return response.StatusCode
}

func TestLoadByToken(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		one, two := nginxconf.Revision(site("one")), nginxconf.Revision(site("two"))
		p := newPod(t, site("one")).start(image, http80)
		p.serves(one)
		p.mount(instanceapi.DirNext, site("two"))
		p.requestWithToken(two, one, "open")
		p.outcome(two, passed)
		p.body(80, "one")
		if code := p.requestLoad("open"); code != http.StatusAccepted {
			t.Fatalf("the token was answered with %d", code)
		}
		if status := p.serves(two); status.Authorized != two {
			t.Errorf("authorized %q", status.Authorized)
		}
		p.body(80, "two")

		// When the annotation requests the same load later, nothing changes.
		p.requestWithToken(two, two, "open")
		if status := p.serves(two); status.Reloads.Succeeded != 1 {
			t.Errorf("reloads %+v", status.Reloads)
		}

		// Another request revokes what the token authorized.
		p.requestWithToken(two, one, "")
		if status := p.serves(one); status.Authorized != "" {
			t.Errorf("authorized %q after the authorization was withdrawn", status.Authorized)
		}
	})
}

// TestTokenBeforeItsFiles: a token is valid even if it arrives before the kubelet has updated the
// files.
func TestTokenBeforeItsFiles(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		two := nginxconf.Revision(site("two"))
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		p.requestWithToken(two, "", "open")
		if code := p.requestLoad("open"); code != http.StatusAccepted {
			t.Fatalf("the token was answered with %d", code)
		}
		p.mount(instanceapi.DirNext, site("two"))
		p.serves(two)
	})
}

// TestInvalidTokens: an invalid token changes nothing. Every client in the cluster's network can
// reach the pod.
func TestInvalidTokens(t *testing.T) {
	one, two := nginxconf.Revision(site("one")), nginxconf.Revision(site("two"))
	const right = "open"
	for name, tt := range map[string]struct{ test, authorization, token string }{
		"wrong token":                {two, right, "opem"},
		"no token":                   {two, right, ""},
		"the hash itself":            {two, right, instanceapi.TokenHash(right)},
		"no authorization":           {two, "", right},
		"no authorization, no token": {two, "", ""},
		"nothing requested":          {"", right, right},
		"token of another request":   {two, "newer", right},
		"more than a token":          {two, right, strings.Repeat(right, 10_000)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, site("one")).start("forky", http80)
			p.serves(one)
			p.mount(instanceapi.DirNext, site("two"))
			p.requestWithToken(tt.test, "", tt.authorization)
			if tt.test != "" {
				p.outcome(tt.test, passed)
			}
			if code := p.requestLoad(tt.token); code != http.StatusForbidden {
				t.Errorf("answered with %d", code)
			}
			// If a load had been started, it would have ended before this reload.
			p.signal(syscall.SIGHUP)
			status := p.until("reloaded", func(s instanceapi.Status) bool { return s.Reloads.Succeeded > 0 && s.Ready })
			if status.Serving != one || status.Authorized != "" || status.Reloads.Succeeded != 1 {
				t.Errorf("status %+v", status)
			}
		})
	}
}

// TestTokenOfAnEarlierRequest: a token is invalid once the request that it belongs to has changed.
func TestTokenOfAnEarlierRequest(t *testing.T) {
	p := newPod(t, site("one")).start("forky", http80)
	p.ready()
	two := p.next(site("two"))
	p.requestWithToken(two, "", "first")
	p.outcome(two, passed)
	three := nginxconf.Revision(site("three"))
	p.mount(instanceapi.DirNext, site("three"))
	p.requestWithToken(three, "", "second")
	p.outcome(three, passed)
	if code := p.requestLoad("first"); code != http.StatusForbidden {
		t.Errorf("answered with %d", code)
	}
	if code := p.requestLoad("second"); code != http.StatusAccepted {
		t.Errorf("the right token was answered with %d", code)
	}
	p.serves(three)
}

// TestOnlyATokenIsRead: nothing else that a client can send has an effect.
func TestOnlyATokenIsRead(t *testing.T) {
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
