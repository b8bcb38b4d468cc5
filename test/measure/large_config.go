package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/standin/container"
	"example.com/nginx-operator/test/testenv"
)

// largeLines are the numbers of lines of data that a geo block includes.
var largeLines = []int{20_000, 200_000, 1_000_000}

// largeFolder is where the data is mounted.
const largeFolder = "/etc/nginx-operator/data"

// measureLargeConfig lets an instance manager test a configuration with a large included file
// before its server, with real nginx. It measures the time, the peak of the manager's memory, and
// the verdict.
func measureLargeConfig(ctx context.Context, s *session) ([]figure.Figure, error) {
	dir, err := os.MkdirTemp("", "large-config-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "programs")+"/", "./cmd/nginx-instance")
	build.Dir, build.Env = testenv.Root(), append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build nginx-instance: %w\n%s", err, text)
	}
	images, err := container.Images(os.Getenv("INSTANCE_IMAGES"), filepath.Join(dir, "images"))
	if err != nil {
		return nil, err
	}
	var figures []figure.Figure
	for _, lines := range largeLines {
		s.progress("large-config: %d lines", lines)
		l := &largeConfig{dir: filepath.Join(dir, strconv.Itoa(lines)), programs: filepath.Join(dir, "programs"), root: images["trixie"], lines: lines}
		found, err := l.measure(ctx)
		figures = append(figures, found...)
		if err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// largeConfig is one pod.
type largeConfig struct {
	dir, programs, root string
	lines               int
	client              *http.Client
}

func (l *largeConfig) measure(ctx context.Context) ([]figure.Figure, error) {
	stable := map[string]string{"site.conf": "server { listen 80; }"}
	next := map[string]string{
		"a.conf": "geo $place { ranges; default none; include " + largeFolder + "/geo.conf; }\n",
		"b.conf": "server { listen 80; return 200 large; }\n",
	}
	revision := nginxconf.Revision(next)
	if err := errors.Join(l.publish("stable", stable), l.publish("next", next), l.publish("requests", map[string]string{"test": "", "load": ""}), l.data()); err != nil {
		return nil, err
	}
	started, err := l.start()
	if err != nil {
		return nil, err
	}
	defer started.Stop()
	l.client = &http.Client{Transport: &http.Transport{DialContext: started.Dial, DisableKeepAlives: true}, Timeout: 5 * time.Second}
	if _, err := l.until(ctx, func(s instanceapi.Status) bool { return s.Ready }); err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := l.publish("requests", map[string]string{"test": revision, "load": ""}); err != nil {
		return nil, err
	}
	verdict := instanceapi.Revision{}
	_, err = l.until(ctx, func(s instanceapi.Status) bool {
		for _, r := range s.Revisions {
			if r.Revision == revision && r.Test != "" {
				verdict = r
			}
		}
		return verdict.Test != ""
	})
	if err != nil {
		return nil, err
	}
	took := time.Since(begin)
	peak, err := peakMemory(started.PID())
	return l.figures(verdict, took, peak), err
}

func (l *largeConfig) figures(verdict instanceapi.Revision, took time.Duration, peak float64) []figure.Figure {
	name := fmt.Sprintf("%d lines: ", l.lines)
	refused := 0.0
	var why []string
	if verdict.Test != instanceapi.Passed {
		refused = 1
		for _, p := range verdict.Problems {
			why = append(why, p.Message)
		}
	}
	const most = 24 // MiB: the heap limit of process 1
	return []figure.Figure{
		figure.HasGoal(name+"refused", refused, "configurations", figure.AtMost(0), why...),
		figure.Info(name+"tested within", took.Seconds(), "s"),
		figure.HasGoal(name+"peak memory of process 1", peak, "MiB", figure.AtMost(most)),
	}
}

// publish changes a volume like the kubelet.
func (l *largeConfig) publish(volume string, files map[string]string) error {
	dir := filepath.Join(l.dir, "volumes", volume)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return container.Publish(dir, files)
}

// data writes the file that the geo block includes.
func (l *largeConfig) data() error {
	dir := filepath.Join(l.dir, "volumes", path.Base(largeFolder))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, "geo.conf"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	for i := range l.lines {
		address := net.IPv4(10+byte(i>>24), byte(i>>16), byte(i>>8), byte(i))
		if _, err := fmt.Fprintf(w, "%s-%s v%d;\n", address, address, i%100); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return errors.Join(w.Flush(), file.Close())
}

func (l *largeConfig) start() (*container.Container, error) {
	spec := container.Spec{
		Root:    l.root,
		Command: []string{path.Join(instanceapi.DirBin, instanceapi.Program), "run", "--port=http:80/TCP"},
		Mounts:  []container.Mount{{From: filepath.Join(l.dir, "volumes"), To: "/etc/nginx-operator"}, {From: l.programs, To: instanceapi.DirBin}},
	}
	for _, scratch := range []string{"/tmp", "/run", "/var/cache/nginx", "/var/lib/nginx", instanceapi.DirTLS} {
		from := filepath.Join(l.dir, "scratch", strings.ReplaceAll(strings.Trim(scratch, "/"), "/", "-"))
		if err := errors.Join(os.MkdirAll(from, 0o755), os.Chmod(from, 0o777|os.ModeSticky)); err != nil {
			return nil, err
		}
		spec.Mounts = append(spec.Mounts, container.Mount{From: from, To: scratch})
	}
	return container.Start(spec, io.Discard)
}

// until waits for a status of the instance.
func (l *largeConfig) until(ctx context.Context, holds func(instanceapi.Status) bool) (status instanceapi.Status, err error) {
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the instance has not reached this state within %s", patience))
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if status, err = l.status(ctx); err == nil && holds(status) {
			return status, nil
		}
		select {
		case <-ctx.Done():
			return status, errors.Join(context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

func (l *largeConfig) status(ctx context.Context) (status instanceapi.Status, err error) {
	address := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(instanceapi.Port)) + instanceapi.PathStatus
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return status, err
	}
	response, err := l.client.Do(request)
	if err != nil {
		return status, err
	}
	defer func() { _ = response.Body.Close() }()
	return status, json.NewDecoder(response.Body).Decode(&status)
}

// peakMemory returns the peak of a process's memory, in MiB.
func peakMemory(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kibibytes, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kibibytes / 1024, err
		}
	}
	return 0, errors.New("the kernel does not report the peak memory of a process")
}
