package main

import (
	"bytes"
	"context"
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

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/standin/container"
)

// alone is an instance in its own container, without a cluster, in a memory cgroup with the size
// that a pod could have.
type alone struct {
	*container.Container
	dir, cgroup string
	output      bytes.Buffer
	// dialing bounds the number of connections that are opened at the same time.
	dialing chan struct{}
}

// aloneImage is the image for measurements without a cluster. `make images` builds it.
const aloneImage = "bookworm"

// startAlone starts an instance with a configuration. To compare with another release, set
// INSTANCE_PROGRAM to its program.
func startAlone(ctx context.Context, files map[string]string, memory int64, arguments ...string) (*alone, error) {
	dir, err := os.MkdirTemp("", "measure-alone-")
	if err != nil {
		return nil, err
	}
	a := &alone{dir: dir, dialing: make(chan struct{}, 16)}
	if err := a.start(ctx, files, memory, arguments); err != nil {
		return nil, errors.Join(err, a.end())
	}
	return a, nil
}

func (a *alone) start(ctx context.Context, files map[string]string, memory int64, arguments []string) error {
	spec, err := a.spec(ctx, files)
	if err != nil {
		return err
	}
	spec.Command = append(spec.Command, arguments...)
	if a.Container, err = container.Start(spec, &a.output); err != nil {
		return err
	}
	if err := a.limit(memory); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; {
		err := a.probe(ctx, instanceapi.Port, instanceapi.PathReady)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) || a.State() != nil {
			return fmt.Errorf("the instance is not ready: %w", err)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func (a *alone) spec(ctx context.Context, files map[string]string) (container.Spec, error) {
	if err := os.Chmod(a.dir, 0o755); err != nil {
		return container.Spec{}, err
	}
	folder := os.Getenv("INSTANCE_IMAGES")
	if folder == "" {
		folder = "bin/images"
	}
	roots, err := container.Images(folder, filepath.Join(a.dir, "images"))
	if err != nil {
		return container.Spec{}, err
	}
	if roots[aloneImage] == "" {
		return container.Spec{}, fmt.Errorf("there is no image nginx-%s.tar in %s", aloneImage, folder)
	}
	spec := container.Spec{
		Root:    roots[aloneImage],
		Command: []string{path.Join(instanceapi.DirBin, instanceapi.Program), "run", "--port=http:80/TCP"},
	}
	mount := func(to, from string) error {
		spec.Mounts = append(spec.Mounts, container.Mount{From: filepath.Join(a.dir, from), To: to})
		return errors.Join(os.MkdirAll(filepath.Join(a.dir, from), 0o755), os.Chmod(filepath.Join(a.dir, from), 0o777|os.ModeSticky))
	}
	errs := []error{mount("/etc/nginx-operator", "volumes"), mount(instanceapi.DirBin, "bin")}
	for i, to := range []string{"/tmp", "/run", "/var/cache/nginx", "/var/lib/nginx", instanceapi.DirTLS, instanceapi.DirRequestLog} {
		errs = append(errs, mount(to, "scratch-"+strconv.Itoa(i)))
	}
	// Mount it like the kubelet mounts an emptyDir in memory.
	log := spec.Mounts[len(spec.Mounts)-1].From
	errs = append(errs, unix.Mount("tmpfs", log, "tmpfs", 0, "size=8m,mode=1777"))
	for _, volume := range []string{"stable", "next", "requests", "tls"} {
		errs = append(errs, os.MkdirAll(filepath.Join(a.dir, "volumes", volume), 0o755))
	}
	errs = append(errs, container.Publish(filepath.Join(a.dir, "volumes/stable"), files), buildInstance(ctx, filepath.Join(a.dir, "bin", instanceapi.Program)))
	return spec, errors.Join(errs...)
}

// buildInstance builds the program, or copies the one of another release.
func buildInstance(ctx context.Context, program string) error {
	if other := os.Getenv("INSTANCE_PROGRAM"); other != "" {
		text, err := os.ReadFile(other)
		if err != nil {
			return err
		}
		return os.WriteFile(program, text, 0o755)
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "example.com/nginx-operator/cmd/nginx-instance")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build nginx-instance: %w: %s", err, output)
	}
	return nil
}

// limit puts the container into its own memory cgroup, of version 1 or 2; 0: no limit.
func (a *alone) limit(memory int64) error {
	if memory == 0 {
		return nil
	}
	root, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		root, file = "/sys/fs/cgroup", "memory.max"
	}
	a.cgroup = filepath.Join(root, filepath.Base(a.dir))
	return errors.Join(os.Mkdir(a.cgroup, 0o755),
		os.WriteFile(filepath.Join(a.cgroup, file), []byte(strconv.FormatInt(memory, 10)), 0o644),
		os.WriteFile(filepath.Join(a.cgroup, "cgroup.procs"), []byte(strconv.Itoa(a.PID())), 0o644))
}

// end stops the container and removes its files.
func (a *alone) end() error {
	var errs []error
	if a.Container != nil {
		a.Stop()
	}
	if a.cgroup != "" {
		errs = append(errs, os.Remove(a.cgroup))
	}
	for i := range 6 {
		_ = unix.Unmount(filepath.Join(a.dir, "scratch-"+strconv.Itoa(i)), 0) // only one is mounted
	}
	return errors.Join(append(errs, os.RemoveAll(a.dir))...)
}

// probe requests a path like a kubelet, on a new connection.
func (a *alone) probe(ctx context.Context, port int, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := a.Dial(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\n\r\n", url); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if status := strings.Fields(string(answer)); err == nil && (len(status) < 2 || status[1] != strconv.Itoa(http.StatusOK)) {
		err = fmt.Errorf("answer %.200q", answer)
	}
	return err
}

// spent returns the processor time of a process, without that of its children.
func spent(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, errors.Join(err, fmt.Errorf("process %d is gone", pid))
	}
	var sum time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			return 0, err
		}
		nanoseconds, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(nanoseconds, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n)
	}
	return sum, nil
}
