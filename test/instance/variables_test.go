//go:build instance

package instance_test

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/standin/container"
)

// secretDir is where a pod mounts the Secret shop for its variables.
var secretDir = path.Join(instanceapi.DirVariables, "secret", "shop")

// withVariable returns a configuration with the variable TOKEN, of the Secret shop.
func withVariable(t *testing.T, text string) map[string]string {
	t.Helper()
	file, err := json.Marshal(instanceapi.Variables{Variables: []instanceapi.Variable{
		{Name: "TOKEN", VariableObject: instanceapi.VariableObject{Kind: "Secret", Object: "shop"}, Key: "token"},
	}})
	must(t, err)
	return map[string]string{"site.conf": text, instanceapi.FileVariables: string(file)}
}

// rotate gives the Secret another value, as the kubelet does.
func (p *Pod) rotate(token string) {
	p.t.Helper()
	must(p.t, container.Publish(p.volume(secretDir), map[string]string{"token": token}))
}

// TestVariables: a pod waits for the value of a variable, serves it, and reloads when it changes. A value that breaks the
// configuration is refused, and the last good one stays.
func TestVariables(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		config := withVariable(t, `server { listen 80; location / { return 200 ${TOKEN}; } }`)
		revision := nginxconf.Revision(config)
		p := newPod(t, config).start(image, "--port=http:80/TCP", "--reload-on="+secretDir)
		p.outcome(revision, func(r instanceapi.Revision) bool {
			return r.Test == instanceapi.Failed && strings.Contains(r.Problems[0].Message, "spec.config.env: TOKEN: Secret shop has no key token")
		})
		p.rotate("hunter2")
		p.serves(revision)
		p.answers("hunter2")
		p.rotate("hunter3")
		p.answers("hunter3")

		p.rotate("hunter4; return 200 stolen")
		refused := p.until("refused", func(s instanceapi.Status) bool { return len(s.ReloadProblems) > 0 })
		if message := refused.ReloadProblems[0].Message; !strings.Contains(message, "has one of the characters") || !refused.Ready {
			t.Errorf("%+v", refused)
		}
		p.body(80, "hunter3")
		p.rotate("hunter5")
		p.answers("hunter5")
		for _, value := range []string{"hunter2", "hunter3", "hunter4", "hunter5"} {
			if strings.Contains(p.output.String(), value) {
				t.Errorf("the log contains %s", value)
			}
		}
	})
}

// TestVariableInARefusedConfiguration: nginx quotes what it refuses, or a part of it, and neither the report nor the log
// contains that.
func TestVariableInARefusedConfiguration(t *testing.T) {
	const value = "Hunter2secret/hunter3secret"
	eachNginx(t, func(t *testing.T, image string) {
		for name, text := range map[string]string{
			"the value":          "server {\n listen 80;\n keepalive_timeout ${TOKEN};\n}",
			"a part of it":       "server {\n listen 80; location / {\n proxy_pass http://${TOKEN}; }\n}",
			"on another line":    "server {\n listen 80;\n keepalive_timeout\n ${TOKEN}\n ;\n}",
			"at the end of it":   "server { listen 80; set $a a\n;\n location ${TOKEN} { } location ${TOKEN} { }\n}",
			"without a place":    "server { listen 80;\n location / {\n proxy_pass $${TOKEN}; } }",
			"in lower case":      "server { listen 80;\n\n ssl_certificate /none/${TOKEN}; ssl_certificate_key /none/${TOKEN}; }",
			"the name of a file": "\n\ninclude /${TOKEN};",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				config := withVariable(t, text)
				p := newPod(t, config)
				p.rotate(value)
				p.start(image, "--port=http:80/TCP", "--reload-on="+secretDir)
				found := p.outcome(nginxconf.Revision(config), func(r instanceapi.Revision) bool { return r.Test == instanceapi.Failed })
				p.showsNothing(t, found, "hunter2secret", "hunter3secret")
			})
		}
	})
}

// TestVariableInARefusedReload: a new value that nginx refuses is not shown either.
func TestVariableInARefusedReload(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, withVariable(t, "server {\n listen 80;\n location / { return 200 served; }\n location /a {\n proxy_pass http://${TOKEN}/; } }"))
		p.rotate("127.0.0.1")
		p.start(image, "--port=http:80/TCP", "--reload-on="+secretDir)
		p.ready()
		p.rotate("Hunter2secret.test")
		refused := p.until("refused", func(s instanceapi.Status) bool { return len(s.ReloadProblems) > 0 })
		if found := refused.ReloadProblems[0]; found.File != "site.conf" || found.Line != 5 {
			t.Errorf("%+v", found)
		}
		p.showsNothing(t, refused, "hunter2secret")
		p.body(80, "served")
	})
}

// showsNothing fails the test if a report or the container's log contains one of the texts, in any case.
func (p *Pod) showsNothing(t *testing.T, report any, texts ...string) {
	t.Helper()
	text, err := json.Marshal(report)
	must(t, err)
	for _, secret := range texts {
		if strings.Contains(strings.ToLower(string(text)+p.output.String()), secret) {
			t.Errorf("%s is shown: %s\n%s", secret, text, p.output.String())
		}
	}
}

// TestMountedVariablesAreNotServed: a configuration cannot serve, copy or include the mounted objects.
func TestMountedVariablesAreNotServed(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, map[string]string{"open.conf": open})
		p.rotate("CANARY of a Secret")
		p.start(image, "--port=http:80/TCP", "--reload-on="+secretDir)
		p.ready()
		token := secretDir + "/token"
		for _, path := range []string{token, secretDir + "/..data/token", "/proc/1/root" + token, "/proc/self/root" + token, "/operator/env/secret/shop/token"} {
			if code, body := p.send(http.MethodGet, path, ""); code == http.StatusOK || strings.Contains(body, "CANARY") {
				t.Errorf("GET %s: %d %q", path, code, body)
			}
			p.send("COPY", path, "http://127.0.0.1/tmp/stolen-a")
		}
		p.nothingStolen(t, []string{"CANARY"})
		found := p.outcome(p.next(map[string]string{"site.conf": "include " + token + ";"}), func(r instanceapi.Revision) bool { return r.Test == instanceapi.Failed })
		if text := found.Problems[0].Message; !strings.Contains(text, "Permission denied") {
			t.Errorf("include: %s", text)
		}
	})
}
