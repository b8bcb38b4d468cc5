//go:build instance

package instance_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
)

// open serves every file that a worker can open, with every module that serves or moves files.
const open = `
server {
  listen 80;
  root /;
  autoindex on;
  dav_methods PUT DELETE MKCOL COPY MOVE;
  location /alias/ { alias /etc/nginx/tls/shop/; }
  location /operator/ { alias /etc/nginx-operator/; }
  location /try { try_files /etc/nginx/tls/shop/tls.key /etc/nginx-operator/tls/shop/tls.key =404; }
  location /error { error_page 404 /etc/nginx/tls/shop/tls.key; return 404; }
  location /error-operator { error_page 404 /etc/nginx-operator/tls/shop/tls.key; return 404; }
  location /tmp/page.html { ssi on; }
  location /cached/ { alias /etc/nginx/tls/shop/; open_file_cache max=10; open_file_cache_errors on; }
  location /users { auth_basic shop; auth_basic_user_file /etc/nginx/tls/shop/users; }
}
`

const tlsServer = `
server {
  listen 443 ssl;
  ssl_certificate /etc/nginx/tls/shop/tls.crt;
  ssl_certificate_key /etc/nginx/tls/shop/tls.key;
  ssl_client_certificate /etc/nginx/tls/shop/ca.crt;
  ssl_verify_client optional;
  location / {
    proxy_pass https://127.0.0.1:443/;
    proxy_ssl_certificate /etc/nginx/tls/shop/combined.pem;
    proxy_ssl_certificate_key /etc/nginx/tls/shop/combined.pem;
    proxy_ssl_trusted_certificate /etc/nginx/tls/shop/ca.crt;
  }
}
server {
  listen 8443 ssl;
  ssl_certificate /etc/nginx/tls/shop/tls.crt;
  ssl_certificate_key tls/shop/tls.key;
  ssl_client_certificate /etc/nginx/tls/shop/ca.crt;
}
`

// secret returns a pair and what else users put into such Secrets.
func secret(t *testing.T, serial int64) map[string]string {
	t.Helper()
	files := pair(t, serial)
	files["ca.crt"] = files["tls.crt"]
	files["combined.pem"] = files["tls.crt"] + files["tls.key"]
	files["users"] = "shop:{PLAIN}shop\n"
	return files
}

// withOpenFiles starts an nginx that serves the whole file system.
func withOpenFiles(t *testing.T, image string) *Pod {
	t.Helper()
	p := newPod(t, map[string]string{"open.conf": open, "tls.conf": tlsServer})
	p.mount(shop, secret(t, 1))
	tmp := scratchOf(p.dir, "/tmp")
	page := `<!--#include virtual="/etc/nginx/tls/shop/tls.key" --> <!--#include virtual="/operator/tls/shop/tls.key" --> <!--#include file="../etc/nginx/tls/shop/combined.pem" -->`
	must(t, os.WriteFile(filepath.Join(tmp, "page.html"), []byte(page), 0o644))
	for name, target := range map[string]string{"key": "/etc/nginx/tls/shop/tls.key", "secret": instanceapi.DirSecrets + "/shop/tls.key"} {
		must(t, os.Symlink(target, filepath.Join(tmp, name)))
	}
	p.start(image, "--port=https:443/TCP", "--certificate=shop")
	p.ready()
	return p
}

// paths returns the paths at which a worker could find a key or what the operator mounts.
func (p *Pod) paths() []string {
	var found []string
	files := []string{shop + "/tls.key", shop + "/..data/tls.key", shop + "/combined.pem", instanceapi.DirNext + "/" + instanceapi.FileTrust, instanceapi.DirStable + "/open.conf"}
	for _, dir := range []string{"shop", ".pairs/*", ".keys/*"} {
		matches, err := filepath.Glob(filepath.Join(scratchOf(p.dir, instanceapi.DirTLS), dir))
		must(p.t, err)
		for _, match := range matches {
			inside, err := filepath.Rel(scratchOf(p.dir, instanceapi.DirTLS), match)
			must(p.t, err)
			for _, file := range []string{"tls.key", "combined.pem"} {
				files = append(files, filepath.Join(instanceapi.DirTLS, inside, file))
			}
		}
	}
	for _, file := range files {
		found = append(found, file, "/proc/1/root"+file, "/proc/self/root"+file, "/proc/1/cwd"+file, "/proc/self/cwd"+file)
	}
	return append(found, "/alias/tls.key", "/alias/combined.pem", "/cached/tls.key", "/operator/tls/shop/tls.key", "/try", "/error", "/error-operator",
		"/tmp/page.html", "/tmp/key", "/tmp/secret", "/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/proc/1/fd/0", "/proc/1/fd/3", "/proc/1/fd/7", "/proc/self/mem", "/proc/self/maps")
}

// send sends a request to the server in open.
func (p *Pod) send(method, path, destination string) (int, string) {
	request, err := http.NewRequestWithContext(p.t.Context(), method, "http://127.0.0.1"+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("Destination", destination)
	response, err := p.client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return response.StatusCode, err.Error()
	}
	return response.StatusCode, string(body)
}

// private returns secrets from files that no client may read: a part of a key, and what instances
// mount from the operator.
func (p *Pod) private() []string {
	secrets := []string{"PRIVATE KEY", p.operator.application.UID, "dav_methods"}
	content, err := os.ReadFile(filepath.Join(p.volume(shop), "tls.key"))
	must(p.t, err)
	return append(secrets, strings.Split(string(content), "\n")[1])
}

func holdsPrivate(text string, secrets []string) bool {
	return slices.ContainsFunc(secrets, func(w string) bool { return strings.Contains(text, w) })
}

// TestKeysAreNotServed: no request reads a private file. The test fails if the kernel has no
// Landlock, because the Secret's own mount would be served.
func TestKeysAreNotServed(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withOpenFiles(t, image)
		secrets := p.private()
		p.nothingServed(t, secrets)
		// Their size is 0, so the body says nothing about whether a worker could open them.
		for _, path := range []string{"/proc/self/mem", "/proc/self/maps", "/proc/self/environ"} {
			if code, _ := p.send(http.MethodGet, path, ""); code != http.StatusForbidden {
				t.Errorf("GET %s: %d, want 403", path, code)
			}
		}
		p.copyAll()
		p.nothingStolen(t, secrets)

		// Files that are not private are served and used as before.
		for _, path := range []string{"/alias/tls.crt", "/alias/ca.crt", "/etc/nginx/mime.types", "/etc/passwd", "/alias/"} {
			if code, body := p.send(http.MethodGet, path, ""); code != http.StatusOK || body == "" {
				t.Errorf("GET %s: %d %q", path, code, body)
			}
		}
		p.usersOfTheSecret(t)
		if p.served() != 1 {
			t.Error("nginx does not serve the certificate")
		}
		if strings.Contains(p.output.String(), "PRIVATE KEY") {
			t.Error("a key is in the log")
		}
		limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.container.Worker()))
		must(t, err)
		if !regexp.MustCompile(`(?m)^Max core file size +0 +0 `).Match(limits) {
			t.Errorf("a worker may write its memory, which holds the keys, to a file:\n%s", limits)
		}
	})
}

// nothingServed fails the test if a response has one of the secrets or a private file.
func (p *Pod) nothingServed(t *testing.T, secrets []string) {
	t.Helper()
	for _, path := range p.paths() {
		if code, body := p.send(http.MethodGet, path, ""); holdsPrivate(body, secrets) || (code == http.StatusOK && body != "" && path != "/tmp/page.html") {
			t.Errorf("GET %s: %d %q", path, code, body)
		}
	}
}

// copyAll copies and moves what it can to /tmp/stolen-….
func (p *Pod) copyAll() {
	for i, path := range p.paths() {
		target := "/tmp/stolen-" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		for _, method := range []string{"COPY", "MOVE"} {
			if strings.Contains(path, "/proc/") || (method == "MOVE" && strings.HasPrefix(path, instanceapi.DirTLS)) {
				continue // The files of /proc never end, and a moved file is no longer there.
			}
			p.send(method, path, "http://127.0.0.1"+target)
		}
	}
}

// nothingStolen fails the test if a copied file contains one of the secrets.
func (p *Pod) nothingStolen(t *testing.T, secrets []string) {
	t.Helper()
	stolen, err := filepath.Glob(filepath.Join(scratchOf(p.dir, "/tmp"), "stolen-*"))
	must(t, err)
	for _, file := range stolen {
		info, err := os.Lstat(file)
		must(t, err)
		if !info.Mode().IsRegular() {
			continue
		}
		content, err := os.ReadFile(file)
		must(t, err)
		if holdsPrivate(string(content), secrets) {
			t.Errorf("%s holds %q", file, content)
		}
	}
}

// usersOfTheSecret fails the test unless nginx uses the list of users in the Secret.
func (p *Pod) usersOfTheSecret(t *testing.T) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/users", nil)
	must(t, err)
	request.SetBasicAuth("shop", "shop")
	response, err := p.client.Do(request)
	must(t, err)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("a list of users in the Secret: %s", response.Status)
	}
}

// TestKeysAreNotServedDuringReloads: no request reads a key while nginx loads keys.
func TestKeysAreNotServedDuringReloads(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withOpenFiles(t, image)
		done := make(chan struct{})
		var clients sync.WaitGroup
		var requested sync.Map
		for range 2 {
			clients.Go(func() {
				for {
					for _, path := range []string{"/alias/tls.key", "/try", "/cached/tls.key", "/alias/combined.pem", "/tmp/page.html", "/etc/nginx-operator/tls/shop/tls.key"} {
						select {
						case <-done:
							return
						default:
						}
						if _, body := p.send(http.MethodGet, path, ""); holdsPrivate(body, []string{"PRIVATE KEY"}) {
							t.Errorf("GET %s: %q", path, body)
						}
						requested.Store(path, true)
					}
				}
			})
		}
		for serial := int64(2); serial <= 6; serial++ {
			p.mount(shop, secret(t, serial))
			p.until("rotated", func(s instanceapi.Status) bool { return first(s).Error == "" && p.served() == serial })
			p.serves(p.roll(map[string]string{"open.conf": open + "\n" + strings.Repeat("# again\n", int(serial)), "tls.conf": tlsServer}))
		}
		close(done)
		clients.Wait()
		if _, ok := requested.Load("/tmp/page.html"); !ok {
			t.Error("the clients have not requested every path")
		}
	})
}

// TestKeyIsReadAgain: workers that keep the named pipe of a key open, so that nothing is passed through it, do not make a load
// fail: nginx reads the key again.
func TestKeyIsReadAgain(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := map[string]string{"tls.conf": tlsServer, "held.conf": `
open_file_cache max=100000 inactive=1h;
open_file_cache_valid 1h;
server {
  listen 80;
  location / { alias /etc/nginx/tls/shop/$arg_same/tls.key; }
}`}
		p := newPod(t, files)
		p.mount(shop, secret(t, 1))
		p.start(image, "--port=https:443/TCP", "--certificate=shop")
		p.ready()
		denied, warned := make(chan struct{}), regexp.MustCompile(`nginx reads its keys again.*/etc/nginx/tls/\.pairs/shop-[0-9a-f]+/tls\.key`)
		var clients sync.WaitGroup
		for client := range 2 {
			clients.Go(func() {
				// Each path that leads to the file has its own entry in open_file_cache, and its own descriptor.
				for i := 1; ; i++ {
					select {
					case <-denied:
						return
					default:
						p.send(http.MethodGet, "/?same="+strings.Repeat("./", 2*(i%500)+client)+strings.Repeat("/", i/500), "")
					}
				}
			})
		}
		files["again.conf"] = "# again"
		revision := p.roll(files)
		p.until("denied", func(instanceapi.Status) bool {
			return warned.MatchString(p.output.String())
		})
		close(denied)
		clients.Wait()
		p.serves(revision)
	})
}

// TestKeysCannotBeIncluded: including a key as a configuration fails, and no error message quotes
// the key's text.
func TestKeysCannotBeIncluded(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withOpenFiles(t, image)
		secrets := p.private()
		for _, path := range []string{"/etc/nginx/tls/shop/tls.key", shop + "/tls.key", "/etc/nginx/tls/.keys/*/tls.key", "/proc/1/root" + shop + "/tls.key"} {
			revision := p.next(map[string]string{"open.conf": open, "tls.conf": tlsServer, "include.conf": "include " + path + ";"})
			outcome := p.outcome(revision, func(r instanceapi.Revision) bool { return r.Test != "" })
			for _, problem := range outcome.Problems {
				if holdsPrivate(problem.Message, secrets) || strings.Contains(problem.Message, "BEGIN") {
					t.Errorf("include %s: %q", path, problem.Message)
				}
			}
		}
		if holdsPrivate(p.output.String(), secrets[3:]) {
			t.Error("a key is in the log")
		}
	})
}

// TestKeyAfterRestart: a pod boots with the last good pair while the Secret holds a bad one.
func TestKeyAfterRestart(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withCertificate(t, image, pair(t, 1))
		p.ready()
		bad := pair(t, 2)
		bad["tls.key"] = "bad"
		p.mount(shop, bad)
		p.until("bad", func(s instanceapi.Status) bool { return first(s).Error != "" })
		p.container.Stop()
		p.start(image, "--port=https:443/TCP", "--certificate=shop")
		p.ready()
		if p.served() != 1 {
			t.Error("nginx does not serve the last good certificate")
		}
	})
}

// TestKeyPerHandshake: a configuration that would make every handshake fail is rejected.
func TestKeyPerHandshake(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withCertificate(t, image, pair(t, 1))
		p.ready()
		revision := p.next(map[string]string{"site.conf": `server { listen 443 ssl;
ssl_certificate /etc/nginx/tls/$ssl_server_name/tls.crt;
ssl_certificate_key /etc/nginx/tls/$ssl_server_name/tls.key; }`})
		outcome := p.outcome(revision, func(r instanceapi.Revision) bool { return r.Test == instanceapi.Failed })
		if got := outcome.Problems[0]; got.File != "site.conf" || got.Line != 3 || !strings.Contains(got.Message, "podTemplate.volumes") {
			t.Errorf("problem %+v", got)
		}
	})
}
