//go:build instance

package instance_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/test/internal/kubetest"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/standin/container"
)

// patience bounds the wait for most conditions.
const patience = 20 * time.Second

// Pod is a running instance.
type Pod struct {
	t        *testing.T
	patience time.Duration
	dir      string
	output   *output
	client   *http.Client
	// memory limits the container, in bytes. With 0, there is no limit.
	memory int64
	// operator is the operator that the pod trusts.
	operator *operator
	// mounts are volumes of the user.
	mounts []container.Mount
	// root is the root file system, if it is not that of an image of environment.images. user is the ID of the user, if it
	// is not that of nginx, and path is the PATH of the image, if it is not the usual one.
	root, path string
	user       int

	container *container.Container
}

// volumes is where a pod mounts the volumes of the operator and the user.
const volumes = "/etc/nginx-operator"

// scratch lists all writable directories. As in a pod, they outlive the container.
var scratch = []string{"/tmp", "/run", "/var/cache/nginx", "/var/lib/nginx", instanceapi.DirTLS, instanceapi.DirRequestLog}

// scratchOf returns the directory on this machine for a scratch directory of the pod.
func scratchOf(pod, dir string) string {
	return filepath.Join(pod, "scratch", strings.ReplaceAll(strings.Trim(dir, "/"), "/", "-"))
}

// output collects the output of the container.
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

// newPod prepares a pod with a stable configuration. start starts it.
func newPod(t *testing.T, stable map[string]string) *Pod {
	t.Helper()
	dir, err := os.MkdirTemp("", "pod-") //nolint:usetesting // Others than root have to reach it.
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	p := &Pod{t: t, patience: patience, dir: dir, output: &output{}, operator: newOperator(t)}
	for _, volume := range []string{instanceapi.DirStable, instanceapi.DirNext, instanceapi.DirSecrets} {
		must(t, os.MkdirAll(p.volume(volume), 0o755))
	}
	for _, mount := range scratch {
		must(t, os.MkdirAll(scratchOf(dir, mount), 0o755))
		must(t, os.Chmod(scratchOf(dir, mount), 0o777|os.ModeSticky))
	}
	must(t, os.WriteFile(filepath.Join(dir, "termination-log"), nil, 0o666))
	must(t, os.Chmod(filepath.Join(dir, "termination-log"), 0o666))
	p.mount(instanceapi.DirStable, stable)
	p.mount(instanceapi.DirNext, nil)
	return p
}

// start starts the container, or restarts one that has ended. The arguments are those of
// `nginx-instance run`.
func (p *Pod) start(image string, arguments ...string) *Pod {
	p.t.Helper()
	spec := container.Spec{
		Memory:  p.memory,
		Root:    cmp.Or(p.root, environment.images[image]),
		User:    p.user,
		Command: append([]string{path.Join(instanceapi.DirBin, instanceapi.Program), "run", "--pod-uid=" + podUID}, arguments...),
		Mounts: []container.Mount{
			{From: filepath.Join(p.dir, "volumes"), To: volumes},
			{From: filepath.Join(p.dir, "termination-log"), To: "/dev/termination-log"},
			{From: environment.programs, To: instanceapi.DirBin},
		},
	}
	spec.Mounts = append(spec.Mounts, p.mounts...)
	if p.path != "" {
		spec.Environment = []string{"PATH=" + p.path}
	}
	for _, dir := range scratch {
		spec.Mounts = append(spec.Mounts, container.Mount{From: scratchOf(p.dir, dir), To: dir})
	}
	started, err := container.Start(spec, p.output)
	must(p.t, err)
	p.container = started
	p.client = &http.Client{Transport: &http.Transport{DialContext: started.Dial, DisableKeepAlives: true}, Timeout: 5 * time.Second}
	p.t.Cleanup(func() { p.stop(started) })
	return p
}

// requests are the lines about requests in nginx's logs.
var requests = regexp.MustCompile(`(?m)^.*(?:HTTP/1\.[01]" \d{3} |, request: ").*\n`)

func (p *Pod) stop(started *container.Container) {
	started.Stop()
	if p.t.Failed() {
		text := requests.ReplaceAllString(p.output.String(), "")
		p.t.Logf("output of the container, without requests:\n%s", text[max(0, len(text)-8000):])
	}
}

// in returns the pod for use in a subtest.
func (p *Pod) in(t *testing.T) *Pod {
	t.Helper()
	same := *p
	same.t = t
	return &same
}

// occupy listens on a port in the pod's network, so that nginx cannot.
func (p *Pod) occupy(port int) {
	p.t.Helper()
	must(p.t, p.container.Inside(func() error {
		listener, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
		if err == nil {
			p.t.Cleanup(func() { _ = listener.Close() })
		}
		return err
	}))
}

// get requests a URL of the pod.
func (p *Pod) get(port int, path string) (int, string, error) {
	response, err := p.client.Get("http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) + path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func (p *Pod) status() (instanceapi.Status, error) {
	var status instanceapi.Status
	code, body, err := p.get(instanceapi.Port, instanceapi.PathStatus)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("code %d: %s", code, body)
	}
	if err != nil {
		return status, err
	}
	return status, json.Unmarshal([]byte(body), &status)
}

// until waits until the status meets a condition.
func (p *Pod) until(what string, holds func(instanceapi.Status) bool) instanceapi.Status {
	p.t.Helper()
	var last instanceapi.Status
	p.eventually(what, func() error {
		status, err := p.status()
		if err != nil {
			return err
		}
		last = status
		if !holds(status) {
			return fmt.Errorf("status %+v", status)
		}
		return nil
	})
	return last
}

func (p *Pod) ready() instanceapi.Status {
	p.t.Helper()
	return p.until("ready", func(s instanceapi.Status) bool { return s.Ready })
}

func (p *Pod) serves(revision string) instanceapi.Status {
	p.t.Helper()
	return p.until("serves "+revision, func(s instanceapi.Status) bool { return s.Ready && s.Serving == revision })
}

// outcome waits until the result of a revision meets a condition.
func (p *Pod) outcome(revision string, holds func(instanceapi.Revision) bool) instanceapi.Revision {
	p.t.Helper()
	var found instanceapi.Revision
	p.until("outcome of "+revision, func(s instanceapi.Status) bool {
		for _, r := range s.Revisions {
			if r.Revision == revision && holds(r) {
				found = r
				return true
			}
		}
		return false
	})
	return found
}

func (p *Pod) eventually(what string, check func() error) {
	p.t.Helper()
	deadline := time.Now().Add(p.patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: not within %s: %v", what, p.patience, err)
		}
		select {
		case <-p.container.Ended():
			p.t.Fatalf("%s: the container has ended: %v", what, p.container.State())
		case <-time.After(15 * time.Millisecond):
		}
	}
}

// body fails the test unless the response of nginx contains a text.
func (p *Pod) body(port int, want string) {
	p.t.Helper()
	_, body, err := p.get(port, "/")
	if err != nil || !strings.Contains(body, want) {
		p.t.Fatalf("answer %q (%v), want %q", body, err, want)
	}
}

// master returns the ID of nginx's master process on this machine.
func (p *Pod) master() int {
	p.t.Helper()
	master := p.container.Master()
	if master == 0 {
		p.t.Fatal("nginx does not run")
	}
	return master
}

func (p *Pod) signal(signal syscall.Signal) {
	p.t.Helper()
	must(p.t, p.container.Signal(signal))
}

// exit waits for the end of the container and returns its exit code.
func (p *Pod) exit(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.container.Ended():
		return p.container.State().ExitCode()
	case <-time.After(within):
		p.t.Fatalf("the container has not ended within %s", within)
		return 0
	}
}

var must = kubetest.Must
