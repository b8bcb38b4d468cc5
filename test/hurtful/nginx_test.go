//go:build instance

package hurtful_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/nginx-operator/test/internal/kubetest"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/test/hurtful"
	"example.com/nginx-operator/test/standin/container"
)

// images are the root file systems of the versions of nginx, by the names of their archives.
var images map[string]string

func TestMain(m *testing.M) {
	container.Become()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getuid() != 0 {
		fmt.Fprintln(os.Stderr, "these tests start containers: run them as root")
		return 1
	}
	dir, err := os.MkdirTemp("", "nginx-hurtful-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		// nginx does not run as root, and must be able to access it.
		err = os.Chmod(dir, 0o755)
	}
	folder := os.Getenv("INSTANCE_IMAGES")
	if folder == "" {
		folder = "../../bin/images"
	}
	if err == nil {
		images, err = container.Images(folder, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// TestAccepted: nginx -t of every version accepts every configuration for that version.
func TestAccepted(t *testing.T) {
	for name, root := range images {
		t.Run(name, func(t *testing.T) {
			version := versionOf(t, root)
			t.Logf("nginx %s", version)
			for _, c := range hurtful.All() {
				if c.Since != "" && compareVersions(t, version, c.Since) < 0 {
					continue
				}
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					n := newNginx(t, root, c.Files)
					n.start(0, "-t")
					<-n.container.Ended()
					if text := n.output.String(); n.container.State().ExitCode() != 0 {
						t.Errorf("nginx %s refuses it (%s): %s", version, n.container.State(), text[max(0, len(text)-1000):])
					}
				})
			}
		})
	}
}

func versionOf(t *testing.T, root string) string {
	t.Helper()
	n := newNginx(t, root, hurtful.Good())
	n.start(0, "-v")
	<-n.container.Ended()
	_, version, found := strings.Cut(strings.TrimSpace(n.output.String()), "nginx/")
	if !found {
		t.Fatalf("nginx -v says %q", n.output.String())
	}
	version, _, _ = strings.Cut(version, " ")
	return version
}

func compareVersions(t *testing.T, a, b string) int {
	t.Helper()
	var x, y [3]int
	for text, into := range map[string]*[3]int{a: &x, b: &y} {
		if _, err := fmt.Sscanf(text, "%d.%d.%d", &into[0], &into[1], &into[2]); err != nil {
			t.Fatalf("%q is no version: %v", text, err)
		}
	}
	for i := range x {
		if x[i] != y[i] {
			return x[i] - y[i]
		}
	}
	return 0
}

// nginx runs in a container as its process 1.
type nginx struct {
	t         *testing.T
	root, dir string
	output    *output
	container *container.Container
}

// output collects what the container writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// configuration is where the container finds the files, and scratch are the folders that it may
// write to.
const configuration = "/etc/nginx-operator"

var scratch = []string{"/tmp", "/run", "/var/cache/nginx", "/var/lib/nginx"}

func newNginx(t *testing.T, root string, files map[string]string) *nginx {
	t.Helper()
	dir, err := os.MkdirTemp("", "hurtful-") //nolint:usetesting // Others than root have to reach it.
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	for _, mount := range scratch {
		must(t, os.MkdirAll(filepath.Join(dir, mount), 0o755))
		must(t, os.Chmod(filepath.Join(dir, mount), 0o777|os.ModeSticky))
	}
	n := &nginx{t: t, root: root, dir: dir, output: &output{}}
	n.write(files, 1)
	return n
}

// write writes the files like the instance manager assembles them. It ignores what the instance
// manager itself would refuse, because here only nginx must accept the files.
func (n *nginx) write(files map[string]string, generation int64) {
	n.t.Helper()
	const workers = 2
	assembled := assemble.Files(files, assemble.Settings{StateDir: "/run", Revision: "hurtful", Generation: generation, Workers: workers, DrainTimeout: time.Minute, Image: assemble.DefaultImage()})
	dir := filepath.Join(n.dir, "configuration")
	must(n.t, os.RemoveAll(filepath.Join(dir, "files")))
	must(n.t, os.MkdirAll(filepath.Join(dir, "files"), 0o755))
	for name, text := range assembled.Files {
		must(n.t, os.WriteFile(filepath.Join(dir, "files", name), []byte(text), 0o644))
	}
}

func (n *nginx) start(memory int64, arguments ...string) {
	n.t.Helper()
	spec := container.Spec{
		Root: n.root, Memory: memory,
		Command: append([]string{"/usr/sbin/nginx", "-e", "stderr", "-c", configuration + "/files/" + assemble.MainFile}, arguments...),
		Mounts:  []container.Mount{{From: filepath.Join(n.dir, "configuration"), To: configuration}},
	}
	for _, mount := range scratch {
		spec.Mounts = append(spec.Mounts, container.Mount{From: filepath.Join(n.dir, mount), To: mount})
	}
	started, err := container.Start(spec, n.output)
	must(n.t, err)
	n.container = started
	n.t.Cleanup(started.Stop)
}

// client returns a client with its own connections.
func (n *nginx) client(timeout time.Duration, keepAlive bool) *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DialContext: n.container.Dial, DisableKeepAlives: !keepAlive, DisableCompression: true},
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send sends a request, and returns an error unless the response is that of the good configuration.
func send(client *http.Client, method, path, body string) error {
	request, err := http.NewRequest(method, fmt.Sprintf("http://127.0.0.1:%d%s", hurtful.Port, path), strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "nginx-load")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("status %d", response.StatusCode)
	case path != hurtful.PagePath && string(text) != hurtful.Body(method):
		return fmt.Errorf("body %.50q", text)
	}
	return nil
}

var must = kubetest.Must
