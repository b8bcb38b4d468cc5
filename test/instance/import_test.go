//go:build instance

package instance_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/importer"
	"example.com/nginx-operator/test/standin/container"
)

// importCases has a folder for each configuration, with the requests to compare.
const importCases = "testdata/import"

// TestImport: what kubectl nginx import makes of a configuration answers each request as the configuration does.
func TestImport(t *testing.T) {
	cases, err := os.ReadDir(importCases)
	must(t, err)
	eachNginx(t, func(t *testing.T, image string) {
		for _, c := range cases {
			t.Run(c.Name(), func(t *testing.T) { compareImport(t, image, filepath.Join(importCases, c.Name())) })
		}
	})
}

func compareImport(t *testing.T, image, folder string) {
	certificate := pair(t, 1)
	original := startOriginal(t, image, folder, certificate)
	imported := startImported(t, image, folder, certificate)
	requests := requestsOf(t, folder)
	for _, r := range requests {
		want, err := r.send(original)
		must(t, err)
		got, err := r.send(imported.container)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-original +imported):\n%s", r.line, diff)
		}
	}
	t.Logf("%d requests", len(requests))
}

// startOriginal starts nginx with the configuration as it is.
func startOriginal(t *testing.T, image, folder string, certificate map[string]string) *container.Container {
	t.Helper()
	dir, err := os.MkdirTemp("", "original-") //nolint:usetesting // Others than root have to reach it.
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	config := filepath.Join(dir, "nginx")
	must(t, os.CopyFS(config, os.DirFS(filepath.Join(environment.images[image], "etc/nginx"))))
	overlay(t, config, folder)
	must(t, os.MkdirAll(filepath.Join(config, "ssl"), 0o755))
	for name, file := range map[string]string{"shop.crt": "tls.crt", "shop.key": "tls.key"} {
		must(t, os.WriteFile(filepath.Join(config, "ssl", name), []byte(certificate[file]), 0o644)) //nolint:gosec // nginx's user reads it.
	}
	spec := container.Spec{
		Root: environment.images[image], Command: []string{"/usr/sbin/nginx", "-c", "/etc/nginx/nginx.conf", "-e", "stderr", "-g", "daemon off;"},
		Mounts: append(contentMount(t, folder), container.Mount{From: config, To: "/etc/nginx"}),
	}
	for _, to := range []string{"/var/log/nginx", "/var/lib/nginx", "/var/cache/nginx", "/run", "/tmp"} {
		from := filepath.Join(dir, strings.ReplaceAll(to, "/", "-"))
		makeFolders(t, folder, to, from)
		spec.Mounts = append(spec.Mounts, container.Mount{From: from, To: to})
	}
	out := &output{}
	started, err := container.Start(spec, out)
	must(t, err)
	t.Cleanup(func() {
		started.Stop()
		if t.Failed() {
			t.Logf("output of the original:\n%s", out)
		}
	})
	p := &Pod{t: t, patience: patience, output: out, container: started}
	p.eventually("the original answers", func() error {
		_, err := requestsOf(t, folder)[0].send(started)
		return err
	})
	return started
}

// makeFolders makes a folder that nginx may write to, with those in it that the file folders of a case names.
func makeFolders(t *testing.T, folder, to, from string) {
	t.Helper()
	names, err := os.ReadFile(filepath.Join(folder, "folders"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, name := range append([]string{to}, strings.Fields(string(names))...) {
		if name != to && !strings.HasPrefix(name, to+"/") {
			continue
		}
		made := from + strings.TrimPrefix(name, to)
		must(t, os.Mkdir(made, 0o755))
		must(t, os.Chmod(made, 0o777|os.ModeSticky))
	}
}

// overlay copies the files of a folder over those of another one.
func overlay(t *testing.T, to, from string) {
	t.Helper()
	must(t, filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(relative)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, relative), text, 0o644) //nolint:gosec // nginx's user reads it.
	}))
}

// contentMount mounts the content of a case, which only some have.
func contentMount(t *testing.T, folder string) []container.Mount {
	t.Helper()
	content, err := filepath.Abs(filepath.Join(folder, "content"))
	must(t, err)
	if _, err := os.Stat(content); err != nil {
		return nil
	}
	return []container.Mount{{From: content, To: "/srv/site"}}
}

// startImported starts an instance with what the import makes of the configuration.
func startImported(t *testing.T, image, folder string, certificate map[string]string) *Pod {
	t.Helper()
	result, err := importer.Config(importer.Folder{Config: os.DirFS(folder)}, []string{"/etc/nginx/nginx.conf"}, importer.Options{})
	must(t, err)
	spec, files := result.Applications[0].Spec, map[string]string{}
	for name, text := range spec.Config.Files {
		files[name] = string(text)
	}
	p := newPod(t, files)
	p.mounts = contentMount(t, folder)
	var arguments []string
	for _, c := range spec.TLS {
		p.mount(instanceapi.DirSecrets+"/"+c.Name, certificate)
		arguments = append(arguments, "--certificate="+c.Name)
	}
	for _, port := range spec.Ports {
		arguments = append(arguments, fmt.Sprintf("--port=%s:%d/%s", port.Name, port.Port, port.Protocol))
	}
	if spec.PodTemplate != nil {
		p.mounts = append(p.mounts, secretMount(t, folder))
	}
	p.start(image, arguments...)
	p.ready()
	return p
}

// secretMount mounts the files that the user would put into a Secret.
func secretMount(t *testing.T, folder string) container.Mount {
	t.Helper()
	dir, err := os.MkdirTemp("", "secret-") //nolint:usetesting // Others than root have to reach it.
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	text, err := os.ReadFile(filepath.Join(folder, "users"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "users"), text, 0o644)) //nolint:gosec // nginx's user reads it.
	return container.Mount{From: dir, To: "/etc/nginx-files"}
}

// request is a line of the file requests: method, port, host, path and headers, in which _ stands for a space.
type request struct {
	line, method, port, host, path string
	headers                        []string
}

func requestsOf(t *testing.T, folder string) (found []request) {
	t.Helper()
	file, err := os.Open(filepath.Join(folder, "requests"))
	must(t, err)
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		found = append(found, request{lines.Text(), words[0], words[1], words[2], words[3], words[4:]})
	}
	must(t, lines.Err())
	return found
}

// answer is what nginx answers.
type answer struct {
	Status  int
	Headers http.Header
	Body    string
}

// send sends the request to a container.
func (r request) send(to *container.Container) (answer, error) {
	scheme := map[string]string{"443": "https"}[r.port]
	if scheme == "" {
		scheme = "http"
	}
	sent, err := http.NewRequest(r.method, scheme+"://"+net.JoinHostPort("127.0.0.1", r.port)+r.path, nil)
	if err != nil {
		return answer{}, err
	}
	sent.Host = r.host
	for _, header := range r.headers {
		name, value, _ := strings.Cut(header, ":")
		sent.Header.Set(name, strings.ReplaceAll(value, "_", " "))
	}
	transport := &http.Transport{
		DialContext: to.Dial, DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: 5 * time.Second,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: r.host},
	}
	received, err := transport.RoundTrip(sent)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = received.Body.Close() }()
	body, err := io.ReadAll(received.Body)
	received.Header.Del("Date")
	return answer{received.StatusCode, received.Header, string(body)}, err
}
