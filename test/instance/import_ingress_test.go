//go:build instance

package instance_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/importer"
	"example.com/nginx-operator/test/standin/container"
)

// TestImportIngress: what the import makes of Ingress objects answers as ingress-nginx documents it.
func TestImportIngress(t *testing.T) {
	manifest, err := os.ReadFile("testdata/import-ingress/ingress.yaml")
	must(t, err)
	result, err := importer.Manifests([]importer.Document{{Name: "ingress.yaml", Text: manifest}}, importer.Options{})
	must(t, err)
	files := map[string]string{}
	for name, text := range result.Applications[0].Spec.Config.Files {
		files[name] = string(text)
	}
	eachNginx(t, func(t *testing.T, image string) {
		files := maps.Clone(files)
		if strings.Contains(image, "bookworm") {
			// nginx 1.22 has no directive http2.
			files["ingress.conf"] = strings.ReplaceAll(files["ingress.conf"], "http2 on;", "")
		}
		answersAsIngress(t, image, files)
	})
}

// answersAsIngress compares answers with those that ingress-nginx gives.
func answersAsIngress(t *testing.T, image string, files map[string]string) {
	p := newPod(t, files)
	hosts := filepath.Join(p.dir, "hosts")
	must(t, os.WriteFile(hosts, []byte("127.0.0.1 shop.web.svc.cluster.local\n"), 0o644)) //nolint:gosec // nginx's user reads it.
	p.mounts = append(p.mounts, container.Mount{From: hosts, To: "/etc/hosts"})
	p.mount(instanceapi.DirSecrets+"/shop", pair(t, 1))
	p.start(image, "--port=http:80/TCP", "--port=https:443/TCP", "--certificate=shop")
	for _, port := range []string{"8081", "8082"} {
		p.serveInside("127.0.0.1:"+port, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/check" && r.Header.Get("X-Original-URL") != "" {
				w.Header().Set("X-User", "alice")
				if strings.Contains(r.Header.Get("X-Original-URL"), "/private") {
					w.WriteHeader(http.StatusUnauthorized)
				}
				return
			}
			_, _ = fmt.Fprintf(w, "%s %s %s host=%s proto=%s user=%s", port, r.Method, r.URL, r.Host, r.Header.Get("X-Forwarded-Proto"), r.Header.Get("X-User"))
		})
	}
	p.ready()
	for _, tt := range ingressAnswers {
		words := strings.Fields(tt.request)
		r := request{tt.request, words[0], words[1], words[2], words[3], words[4:]}
		got, err := r.send(p.container)
		must(t, err)
		if got.Status != tt.status || !strings.Contains(got.Body, tt.body) {
			t.Errorf("%s: %d %q, want %d %q", tt.request, got.Status, got.Body, tt.status, tt.body)
		}
		for name, want := range tt.headers {
			if got.Headers.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", tt.request, name, got.Headers.Get(name), want)
			}
		}
	}
}

// ingressAnswers are the documented answers of ingress-nginx.
var ingressAnswers = []struct {
	request string
	status  int
	body    string
	headers map[string]string
}{
	{"GET 80 shop.example.com /a?b", 308, "", map[string]string{"Location": "https://shop.example.com/a?b"}},
	{"GET 443 shop.example.com /a?b", 200, "8081 GET /a?b host=shop.example.com proto=https", map[string]string{"Strict-Transport-Security": "max-age=31536000; includeSubDomains"}},
	{"GET 443 shop.example.com /", 302, "", map[string]string{"Location": "https://shop.example.com/start"}},
	{"GET 443 shop.example.com /api", 200, "8082 GET /api", nil},
	{"GET 443 shop.example.com /api/x", 200, "8082 GET /api/x", nil},
	{"GET 443 shop.example.com /apix", 200, "8081 GET /apix", nil},
	{"GET 443 shop.example.com /exact", 200, "8082 GET /exact", nil},
	{"GET 443 shop.example.com /exact/x", 200, "8081 GET /exact/x", nil},
	{"OPTIONS 443 shop.example.com /a Origin:https://a.example.org", 204, "", map[string]string{"Access-Control-Allow-Origin": "https://a.example.org", "Access-Control-Max-Age": "1728000"}},
	{"GET 443 shop.example.com /a Origin:https://a.example.org", 200, "8081", map[string]string{"Access-Control-Allow-Origin": "https://a.example.org"}},
	{"GET 443 shop.example.com /a Origin:https://evil.example.com", 200, "8081", map[string]string{"Access-Control-Allow-Origin": ""}},
	{"GET 80 old.example.com /something", 200, "8081 GET / host=inner.example.com proto=http", nil},
	{"GET 80 old.example.com /something/new?x=1", 200, "8081 GET /new?x=1", nil},
	{"GET 80 old.example.com /SOMETHING/new", 200, "8081 GET /new", nil},
	{"GET 80 old.example.com /other", 404, "", nil},
	{"GET 80 www.old.example.com /a?b", 308, "", map[string]string{"Location": "http://old.example.com/a?b"}},
	{"GET 80 closed.example.com /", 403, "", nil},
	{"GET 80 moved.example.com /a", 301, "", map[string]string{"Location": "https://new.example.com"}},
	{"GET 80 checked.example.com /public", 200, "user=alice", nil},
	{"GET 80 checked.example.com /private", 302, "", map[string]string{"Location": "https://login.example.com/start?rd=http://checked.example.com/private"}},
	{"GET 80 unknown.example.com /", 404, "", nil},
}
