//go:build instance

package instance_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/standin/container"
)

// upload lets clients write files that they choose, with stock nginx.
const upload = `server {
  listen 80;
  client_max_body_size 10m;
  location /up { client_body_in_file_only on; client_body_temp_path /tmp/up; proxy_pass http://127.0.0.1:80/ok; }
  location / { return 200 "ok\n"; }
}
`

// kept is what the problem of a configuration that loads a file from a writable place says.
const kept = "nginx loads modules and engines only from places that the pod cannot write"

// library returns a shared object of the image. A copy of it is none of nginx's modules, which nginx says after it has run the
// code that loading it runs.
func library(t *testing.T, image string) []byte {
	t.Helper()
	for _, pattern := range []string{"usr/lib/*/libz.so.1", "lib/*/libz.so.1", "usr/lib/libz.so.1", "lib/libz.so.1"} {
		found, err := filepath.Glob(filepath.Join(environment.images[image], pattern))
		must(t, err)
		for _, path := range found {
			content, err := os.ReadFile(path)
			must(t, err)
			return content
		}
	}
	t.Fatal("the image has no libz")
	return nil
}

// TestCodeIsLoadedFromReadOnlyPlaces: a client uploads a library, and no directive that loads one runs it, whatever the
// path to it looks like. The same library on a volume that is mounted read-only is loaded.
func TestCodeIsLoadedFromReadOnlyPlaces(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, map[string]string{"site.conf": upload, "tls.conf": tlsServer})
		p.mount(shop, secret(t, 1))
		code := library(t, image)
		// A folder that is mounted read-only, one that is also mounted writable, and links.
		for _, name := range []string{"declared", "twice"} {
			dir := filepath.Join(p.dir, name)
			must(t, os.MkdirAll(dir, 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "module.so"), code, 0o755))
			p.mounts = append(p.mounts, container.Mount{From: dir, To: "/srv/" + name, ReadOnly: true})
		}
		p.mounts = append(p.mounts, container.Mount{From: filepath.Join(p.dir, "twice"), To: "/srv/again"})
		tmp := scratchOf(p.dir, "/tmp")
		must(t, os.Symlink("/tmp/up/0000000001", filepath.Join(tmp, "link.so")))
		must(t, os.WriteFile(filepath.Join(tmp, "included.conf"), []byte("load_module /tmp/up/0000000001;\n"), 0o644))
		must(t, os.WriteFile(filepath.Join(tmp, "later.conf"), nil, 0o644))
		p.start(image, "--port=https:443/TCP", "--certificate=shop")
		p.ready()
		p.uploadFile(code)

		configurations := map[string]string{
			"load_module":     `load_module /tmp/up/0000000001;`,
			"quoted":          `"load_module" '/tmp/up/0000000001';`,
			"relative":        `load_module ../../../../tmp/up/0000000001;`,
			"by a link":       `load_module /tmp/link.so;`,
			"by a magic link": `load_module /proc/self/root/tmp/up/0000000001;`,
			"included":        `include /tmp/included.conf;`,
			"mounted twice":   `load_module /srv/twice/module.so;`,
			"an engine":       `ssl_engine /tmp/up/0000000001;`,
		}
		for name, text := range configurations {
			p.keeps(name, map[string]string{"site.conf": upload, "code.main.conf": text + "\n"})
		}
		const engine = "server { listen 444 ssl; ssl_certificate /etc/nginx/tls/shop/tls.crt; ssl_certificate_key engine:/tmp/up/0000000001:key; }"
		p.keeps("an engine of a key", map[string]string{"site.conf": upload, "code.conf": engine})

		tested := p.testConfig(map[string]string{"site.conf": upload, "code.main.conf": "load_module /srv/declared/module.so;"})
		if len(tested.Problems) == 0 || !strings.Contains(tested.Problems[0].Message, "ngx_modules") {
			t.Errorf("a library on a volume that is mounted read-only was not loaded: %+v", tested.Problems)
		}
		p.masterKeeps()
	})
}

func (p *Pod) uploadFile(content []byte) {
	p.t.Helper()
	response, err := p.client.Post("http://127.0.0.1/up", "application/octet-stream", strings.NewReader(string(content)))
	must(p.t, err)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		p.t.Fatalf("the upload: %s", response.Status)
	}
	if _, err := os.Stat(filepath.Join(scratchOf(p.dir, "/tmp"), "up", "0000000001")); err != nil {
		p.t.Fatal(err)
	}
}

// keeps fails the test unless a configuration is refused because of what it loads.
func (p *Pod) keeps(name string, files map[string]string) {
	p.t.Helper()
	tested := p.testConfig(files)
	if len(tested.Problems) == 0 || !strings.Contains(tested.Problems[0].Message, kept) {
		p.t.Errorf("%s: %+v", name, tested.Problems)
	}
}

// masterKeeps: a file that is changed after the test of the configuration is not loaded by the master process either.
func (p *Pod) masterKeeps() {
	p.t.Helper()
	revision := p.roll(map[string]string{"site.conf": upload, "tls.conf": tlsServer, "later.main.conf": "include /tmp/later.conf;\n"})
	p.serves(revision)
	must(p.t, os.WriteFile(filepath.Join(scratchOf(p.dir, "/tmp"), "later.conf"), []byte("load_module /tmp/up/0000000001;\n"), 0o644))
	must(p.t, syscall.Kill(p.master(), syscall.SIGHUP))
	p.eventually("the master process loads nothing", func() error {
		if log := p.output.String(); !strings.Contains(log, `"nginx did not load a file that the pod can write","path":"/tmp/up/0000000001"`) {
			return errors.New("the log does not say so")
		}
		return nil
	})
	p.until("still serves", func(s instanceapi.Status) bool { return s.Serving == revision })
}
