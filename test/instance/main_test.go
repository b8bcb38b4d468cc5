//go:build instance

// Package instance_test runs nginx-instance with real nginx, of every version that
// there is an image of, as process 1 of a container: with namespaces, a read-only root
// and no capabilities. Nothing but root and the archives of `cluster image nginx` is
// needed.
package instance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// environment is what all tests share.
var environment struct {
	// program is the path of nginx-instance.
	program string
	// images are the root file systems, by the name of the archive.
	images map[string]string
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == containerInit {
		fmt.Fprintln(os.Stderr, becomeContainer(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getuid() != 0 {
		fmt.Fprintln(os.Stderr, "these tests start containers: run them as root")
		return 1
	}
	dir, err := os.MkdirTemp("", "nginx-instance-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = prepare(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// prepare builds the program and unpacks the images.
func prepare(dir string) error {
	// The instance, which is not root, has to reach it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	environment.program = filepath.Join(dir, "nginx-instance")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=test", "-o", environment.program, "../../cmd/nginx-instance")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build nginx-instance: %w\n%s", err, output)
	}
	folder := os.Getenv("INSTANCE_IMAGES")
	if folder == "" {
		folder = "../../bin/images"
	}
	archives, err := filepath.Glob(filepath.Join(folder, "nginx-*.tar"))
	if err != nil || len(archives) == 0 {
		return fmt.Errorf("no images of nginx in %s: `make images` makes them (%w)", folder, err)
	}
	environment.images = map[string]string{}
	for _, archive := range archives {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archive), "nginx-"), ".tar")
		root := filepath.Join(dir, name)
		if err := unpack(archive, root); err != nil {
			return fmt.Errorf("unpack %s: %w", archive, err)
		}
		environment.images[name] = root
	}
	return nil
}

// eachNginx runs a test with every version of nginx.
func eachNginx(t *testing.T, test func(t *testing.T, image string)) {
	for name := range environment.images {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}
