//go:build instance

// Package instance_test runs nginx-instance with real nginx, in every version for which there is an
// image, as process 1 of a container with its own namespaces, a read-only root and no capabilities.
// The tests need only root and the archives of `cluster image nginx`.
package instance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/nginx-operator/test/internal/part"
	"example.com/nginx-operator/test/standin/container"
)

// environment is shared by all tests.
var environment struct {
	// programs is the directory of nginx-instance.
	programs string
	// images holds the root file systems, by the name of the archive.
	images map[string]string
}

func TestMain(m *testing.M) {
	container.Become()
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
	// The instance does not run as root and has to read this directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	environment.programs = filepath.Join(dir, "programs")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=test", "-o", environment.programs+"/", "../../cmd/nginx-instance")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build nginx-instance: %w\n%s", err, output)
	}
	folder := os.Getenv("INSTANCE_IMAGES")
	if folder == "" {
		folder = "../../bin/images"
	}
	var err error
	environment.images, err = container.Images(folder, filepath.Join(dir, "images"))
	return err
}

// eachNginx runs a test with every version of nginx, at the same time: the tests mostly wait. Of all pairs of a test and a
// version, it runs those of the selected part.
func eachNginx(t *testing.T, test func(t *testing.T, image string)) {
	selected := part.Selected()
	for name := range environment.images {
		if !selected.Has(t.Name() + "/" + name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}
