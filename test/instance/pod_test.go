//go:build instance

package instance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instanceapi"
)

// patience is how long a condition may take to become true, mostly.
const patience = 20 * time.Second

// Pod is a running instance.
type Pod struct {
	t        *testing.T
	patience time.Duration
	dir      string
	command  *exec.Cmd
	ended    chan struct{}
	output   *output
	network  *os.File
	client   *http.Client
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

// newPod prepares a pod with a stable configuration; start starts it.
func newPod(t *testing.T, stable map[string]string) *Pod {
	t.Helper()
	dir, err := os.MkdirTemp("", "pod-") //nolint:usetesting // Others than root have to reach it.
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	p := &Pod{t: t, patience: patience, dir: dir, output: &output{}}
	for _, volume := range []string{instanceapi.DirStable, instanceapi.DirNext, instanceapi.DirRequests, instanceapi.DirSecrets} {
		must(t, os.MkdirAll(p.volume(volume), 0o755))
	}
	for _, mount := range scratch {
		must(t, os.MkdirAll(scratchOf(dir, mount), 0o755))
		must(t, os.Chmod(scratchOf(dir, mount), 0o777|os.ModeSticky))
	}
	must(t, os.WriteFile(filepath.Join(dir, "termination-log"), nil, 0o666))
	must(t, os.Chmod(filepath.Join(dir, "termination-log"), 0o666))
	p.mount(instanceapi.DirStable, stable)
	p.ask("", "")
	return p
}

// start starts the container, once more if it has ended. The arguments are those of
// `nginx-instance run`.
func (p *Pod) start(image string, arguments ...string) *Pod {
	p.t.Helper()
	reader, writer, err := os.Pipe()
	must(p.t, err)
	// A runtime hands the streams over to the container's user, too.
	must(p.t, writer.Chown(user, user))
	command := exec.Command("/proc/self/exe", append([]string{containerInit, environment.images[image], p.dir, environment.program, "run"}, arguments...)...)
	command.Stdout, command.Stderr = writer, writer
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	must(p.t, command.Start())
	must(p.t, writer.Close())
	p.command, p.ended = command, make(chan struct{})
	p.network, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", command.Process.Pid))
	must(p.t, err)
	copied, ended := make(chan struct{}), p.ended
	go func() { _, _ = io.Copy(p.output, reader); close(copied) }()
	go func() { _ = command.Wait(); <-copied; close(ended) }()
	p.client = &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}, Timeout: 5 * time.Second}
	p.t.Cleanup(p.stop)
	return p
}

func (p *Pod) stop() {
	_ = p.command.Process.Kill()
	<-p.ended
	_ = p.network.Close()
	if p.t.Failed() {
		text := p.output.String()
		p.t.Logf("output of the container:\n%s", text[max(0, len(text)-8000):])
	}
}

// in lets a subtest use the pod.
func (p *Pod) in(t *testing.T) *Pod {
	t.Helper()
	same := *p
	same.t = t
	return &same
}

// inside runs a function on a thread in the pod's network.
func (p *Pod) inside(do func() error) error {
	done := make(chan error)
	go func() {
		// The thread is not given back: it ends with this goroutine.
		runtime.LockOSThread()
		if err := unix.Setns(int(p.network.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- do()
	}()
	return <-done
}

// occupy takes a port away.
func (p *Pod) occupy(port int) {
	p.t.Helper()
	must(p.t, p.inside(func() error {
		listener, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
		if err == nil {
			p.t.Cleanup(func() { _ = listener.Close() })
		}
		return err
	}))
}

// dial connects from inside of the pod's network.
func (p *Pod) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := p.inside(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// get asks for an URL of the pod.
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

// until waits for a status.
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

// outcome waits for what becomes of a revision.
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
		case <-p.ended:
			if p.command.ProcessState != nil {
				p.t.Fatalf("%s: the container has ended: %v", what, p.command.ProcessState)
			}
		case <-time.After(15 * time.Millisecond):
		}
	}
}

// body expects an answer of nginx.
func (p *Pod) body(port int, want string) {
	p.t.Helper()
	_, body, err := p.get(port, "/")
	if err != nil || !strings.Contains(body, want) {
		p.t.Fatalf("answer %q (%v), want %q", body, err, want)
	}
}

// master is the process id of nginx, as this machine counts.
func (p *Pod) master() int {
	p.t.Helper()
	for _, child := range children(p.command.Process.Pid) {
		if strings.HasPrefix(title(child), "nginx: master") {
			return child
		}
	}
	p.t.Fatal("nginx does not run")
	return 0
}

func (p *Pod) signal(signal syscall.Signal) {
	p.t.Helper()
	must(p.t, p.command.Process.Signal(signal))
}

// exit waits for the end of the container.
func (p *Pod) exit(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.command.ProcessState.ExitCode()
	case <-time.After(within):
		p.t.Fatalf("the container has not ended within %s", within)
		return 0
	}
}

func children(parent int) []int {
	var found []int
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(strings.Fields(string(text))[0])
			found = append(found, pid)
		}
	}
	return found
}

func title(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	return string(text)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
