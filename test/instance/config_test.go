//go:build instance

package instance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// config sends a request about configurations, as through a forwarded port, and decodes the answer.
func (p *Pod) config(method, path string, body, answer any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	client := *p.client
	client.Timeout = instanceapi.ConfigTestWait
	request, err := http.NewRequest(method, "http://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(instanceapi.Port))+path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// testConfig has the pod test a configuration for a user. A pod that is busy is tested again.
func (p *Pod) testConfig(files map[string]string) (tested instanceapi.ConfigTest) {
	p.t.Helper()
	p.eventually("a user's test", func() error {
		return p.config(http.MethodPost, instanceapi.PathConfigTest, inBase64(files), &tested)
	})
	return tested
}

// inBase64 returns the files as the body of a request.
func inBase64(files map[string]string) instanceapi.ConfigFiles {
	body := instanceapi.ConfigFiles{}
	for name, text := range files {
		body[name] = []byte(text)
	}
	return body
}

// TestConfigForUsers: a user sees the served configuration, and tests another one, which leaves no trace.
func TestConfigForUsers(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		one, two := site("one"), site("two")
		p := newPod(t, one).start(image, http80)
		p.serves(nginxconf.Revision(one))
		var served instanceapi.ServedConfig
		must(t, p.config(http.MethodGet, instanceapi.PathConfig, nil, &served))
		if served.Revision != nginxconf.Revision(one) || len(served.Files) != len(one) || string(served.Files["site.conf"]) != one["site.conf"] {
			t.Errorf("served: %+v", served)
		}
		before, err := p.status()
		must(t, err)
		for _, tt := range []struct {
			files map[string]string
			want  instanceapi.Verdict
		}{{two, instanceapi.Passed}, {map[string]string{"site.conf": "nonsense;"}, instanceapi.Failed}, {one, instanceapi.Passed}} {
			if tested := p.testConfig(tt.files); tested.Test != tt.want || tested.Revision != nginxconf.Revision(tt.files) || (tt.want == instanceapi.Failed) != (len(tested.Problems) > 0) {
				t.Errorf("tested: %+v, want %s", tested, tt.want)
			}
		}
		after, err := p.status()
		must(t, err)
		if after.Serving != before.Serving || after.Reloads != before.Reloads || len(after.Revisions) != len(before.Revisions) || len(after.Available) != len(before.Available) {
			t.Errorf("the tests have changed the status from %+v to %+v", before, after)
		}
		p.body(80, "one")
	})
}

// TestNginxCannotQuery: a request that nginx passes on does not reach the configurations.
func TestNginxCannotQuery(t *testing.T) {
	proxy := map[string]string{"site.conf": "server { listen 80; location / { proxy_pass http://127.0.0.1:" + strconv.Itoa(instanceapi.Port) + "; } }"}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, proxy).start(image, http80)
		p.ready()
		code, body, err := p.get(80, instanceapi.PathConfig)
		if err != nil || code != http.StatusForbidden || !strings.Contains(body, "available only through kubectl port-forward") {
			t.Errorf("nginx passes on %d %q (%v)", code, body, err)
		}
	})
}

// TestOrderEndsTestForUser: an order does not wait for a user's test.
func TestOrderEndsTestForUser(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		// nginx waits for a writer, for as long as a test may take.
		must(t, syscall.Mkfifo(filepath.Join(scratchOf(p.dir, "/tmp"), "endless"), 0o666))
		endless := map[string]string{"site.conf": "include /tmp/endless;"}
		ended := make(chan error, 1)
		go func() {
			var tested instanceapi.ConfigTest
			ended <- p.config(http.MethodPost, instanceapi.PathConfigTest, inBase64(endless), &tested)
		}()
		p.eventually("nginx tests the user's configuration", func() error {
			for _, child := range proc.Root.Children(p.container.PID()) {
				if slices.Contains(strings.Fields(proc.Root.Title(child.PID)), "-T") {
					return nil
				}
			}
			return errors.New("no process tests")
		})
		p.roll(site("two"))
		p.serves(nginxconf.Revision(site("two")))
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("the user's test ended with %v", err)
		}
	})
}
